import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { switchedProxy } from '../support/database/switched-proxy.ts';
import { until } from '../support/processes/process.ts';
import { admin, launchServer, productionSettings } from '../support/processes/server.ts';
import { database, events, run, said } from '../support/processes/started.ts';

/** Of the gauges that say whether the instance works. */
async function gauges(port: string): Promise<string> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return (
    text
      .match(/^(content_graph_ready|content_graph_database_up) .*$/gm)
      ?.sort()
      .join(', ') ?? ''
  );
}
const BAD = 'content_graph_database_up 0, content_graph_ready 0';
const GOOD = 'content_graph_database_up 1, content_graph_ready 1';

const status = async (port: string, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;

describe('A service whose PostgreSQL comes, goes and comes back', () => {
  it('waits for it, serves, and says each change once, without a stack', async () => {
    const proxy = await switchedProxy(await database());
    const PORT = String(await freePort());
    const server = launchServer('', { ...productionSettings(), PORT, DATABASE_URL: proxy.url });
    await said(server, 'database.waiting');
    expect(await gauges(PORT)).toBe(BAD);
    expect(await status(PORT, '/health/live')).toBe(200);
    expect(await status(PORT, '/health/ready')).toBe(503);
    await proxy.on();
    await said(server, 'service.started');
    await until('the metrics to say so', async () => (await gauges(PORT)) === GOOD);
    // Its response may be a second old.
    await until('readiness', async () => (await status(PORT, '/health/ready')) === 200);
    await proxy.off();
    await said(server, 'database.unreachable');
    await until('the metrics to say so', async () => (await gauges(PORT)) === BAD);
    await until('readiness to end', async () => (await status(PORT, '/health/ready')) === 503);
    const authorization = `Bearer cga_${'x'.repeat(36)}`;
    const query = '{ posts { id } }';
    const headers = { 'content-type': 'application/json', authorization };
    const body = JSON.stringify({ query });
    const rejected = await fetch(`http://127.0.0.1:${PORT}/graphql`, { method: 'POST', headers, body });
    expect([401, 503]).toContain(rejected.status);
    await proxy.on();
    // The first recovery was that of the start.
    await said(server, 'database.recovered', 2);
    await until('the metrics to say so', async () => (await gauges(PORT)) === GOOD);
    await until('readiness', async () => (await status(PORT, '/health/ready')) === 200);
    // A slow machine may get a reminder in between.
    const told = events(server).filter((event, at, all) => event !== all[at - 1]);
    expect(told).toEqual([
      'database.waiting',
      'database.recovered',
      'service.started',
      'database.unreachable',
      'database.recovered',
    ]);
    expect(server.stdout).not.toMatch(/"stack"| {4}at /);
    server.kill('SIGTERM');
    expect(await server.exited).toMatchObject({ code: 0, stderr: '' });
  });

  it('migrates it in development before it says that it listens', async () => {
    const url = await database();
    await run(url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    const proxy = await switchedProxy(url);
    const server = launchServer('', { SECRET_KEY: 'x'.repeat(40), DATABASE_URL: proxy.url });
    await server.printed(/database\.waiting/);
    await proxy.on();
    await server.printed(/migrations\.applied[\s\S]*service\.started/);
  });
});

describe('Migrations', () => {
  it('that are pending in production are named with the command, and so is their end', async () => {
    const url = await database();
    await run(url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    const settings = { ...productionSettings(), DATABASE_URL: url };
    const server = launchServer('', settings);
    const line = await said(server, 'migrations.pending');
    expect(line.level).toBe(40);
    const { json } = await admin(['database', 'migrate'], '', settings);
    expect(json.applied).toEqual(line.migrations);
    await said(server, 'migrations.up_to_date');
  });

  it('of a newer version are named, and the service runs on them', async () => {
    const url = await database();
    await run(
      url,
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('new', 'c', '20991231000000_new', now())`,
    );
    const server = launchServer('', { ...productionSettings(), DATABASE_URL: url });
    const { url: origin } = await said(server, 'service.started');
    expect((await fetch(`${origin}/health/ready`)).status).toBe(200);
    const line = await said(server, 'migrations.newer');
    expect(line.migrations).toEqual(['20991231000000_new']);
  });

  it('by a user who may not create tables are rejected in one line', async () => {
    const url = await database();
    const name = new URL(url).pathname.slice(1);
    const role = `${name}_reader`;
    await run(
      url,
      `DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE ROLE ${role} LOGIN PASSWORD 'swordfish'`,
    );
    onTestFinished(() => run(url, `DROP ROLE ${role}`));
    const DATABASE_URL = Object.assign(new URL(url), { username: role, password: 'swordfish' }).href;
    const { code, stderr } = await admin(['database', 'migrate'], '', {
      ...productionSettings(),
      DATABASE_URL,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The database of DATABASE_URL cannot be used: its user lacks rights; .*GRANT.*public[^\n]*\n$/,
    );
    expect(stderr).not.toContain('swordfish');
  });
});
