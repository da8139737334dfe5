import { describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { cuttingProxy } from '../support/database/cutting-proxy.ts';
import { connect } from '../support/database/postgres.ts';
import { stallingProxy } from '../support/database/stalling-proxy.ts';
import { switchedProxy } from '../support/database/switched-proxy.ts';
import { until } from '../support/processes/process.ts';
import { admin, launchServer, productionSettings } from '../support/processes/server.ts';
import { database, lines, messages, run, said } from '../support/processes/started.ts';

/** In the first statement about the migrations, and in none of the probes. */
const LOOK = 'to_regclass';

describe('A start', () => {
  it('that loses its connection while it looks at the migrations waits, ever longer', async () => {
    const proxy = await cuttingProxy(await database());
    proxy.cut('before', 4, LOOK);
    const server = launchServer('', { ...productionSettings(), DATABASE_URL: proxy.url });
    await said(server, 'listening');
    expect(proxy.cuts).toBe(4);
    // A slow machine gets a reminder.
    expect([...new Set(messages(server))]).toEqual(['waiting for the database', 'listening']);
    server.kill('SIGTERM');
    expect(await server.exited).toMatchObject({ code: 0, stderr: '' });
  });

  it('is stopped while it looks at the migrations of a database that it has waited for', async () => {
    const url = await database();
    const [holder, watcher, proxy] = [await connect(url), await connect(url), await switchedProxy(url)];
    await holder.query('BEGIN; LOCK TABLE _prisma_migrations IN ACCESS EXCLUSIVE MODE');
    const server = launchServer('', { ...productionSettings(), DATABASE_URL: proxy.url });
    await said(server, 'waiting for the database');
    await proxy.on();
    await until('the look at the migrations', async () => {
      const { rowCount } = await watcher.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rowCount !== 0;
    });
    server.kill('SIGTERM');
    expect(await server.exited).toMatchObject({ code: 0, stderr: '' });
    expect(messages(server)).toContain('stopped');
  });

  it('on a database that cannot be written to is refused in one line', async () => {
    const url = await database();
    const name = new URL(url).pathname.slice(1);
    await run(url, `DROP SCHEMA public CASCADE; CREATE SCHEMA public`);
    await run(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const server = launchServer('', { SECRET_KEY: 'x'.repeat(40), DATABASE_URL: url });
    const { code, stderr } = await server.exited;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The database of DATABASE_URL cannot be used: it is read-only; [^\n]*\n$/);
  });
});

describe('A DIRECT_DATABASE_URL at which nobody answers', () => {
  it('neither ends serving nor administration, and has its own line until somebody does', async () => {
    const url = await database();
    const proxy = await switchedProxy(url);
    const PORT = String(await freePort());
    const settings = { ...productionSettings(), DATABASE_URL: url, DIRECT_DATABASE_URL: proxy.url };
    const server = launchServer('', { ...settings, PORT });
    const line = await said(
      server,
      'events of other instances come later: the connection for their wake-ups fails',
    );
    expect(line).toMatchObject({
      setting: 'DIRECT_DATABASE_URL',
      reason: expect.stringMatching(/ECONNREFUSED/),
    });
    expect((await fetch(`http://127.0.0.1:${PORT}/health/ready`)).status).toBe(200);
    expect(await admin(['user', 'list'], '', settings)).toMatchObject({ code: 0, stderr: '' });
    const migrate = await admin(['migrate'], '', settings);
    expect(migrate).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^[^\n]*DIRECT_DATABASE_URL[^\n]*\n$/),
    });
    await proxy.on();
    await said(server, 'the connection for wake-ups is back');
    expect(lines(server).filter(({ msg }) => /^(waiting|the database|a database)/.test(msg))).toEqual([]);
  });
});

describe('A start in development with a DIRECT_DATABASE_URL that accepts connections and never responds', () => {
  it('waits for it, names the setting and what to check, and goes on once it responds', async () => {
    const url = await database();
    const proxy = await stallingProxy(url);
    proxy.stall();
    const server = launchServer('', {
      ...{ SECRET_KEY: 'x'.repeat(40), DATABASE_URL: url, DIRECT_DATABASE_URL: proxy.url },
    });
    await server.printed(/waiting for the database[\s\S]*DIRECT_DATABASE_URL[\s\S]*check the network/);
    proxy.restore();
    await server.printed(/listening/);
    expect(`${server.stdout}${server.stderr}`).not.toMatch(/^ {4}at /m);
  });
});
