import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lockDataDir } from '../../src/database/embedded/data-dir-lock.ts';
import { startEmbeddedServer } from '../../src/database/embedded/server.ts';
import { EmbeddedStartError } from '../../src/database/embedded/worker-thread.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { until } from '../support/processes/process.ts';
import { launchServer, productionSettings, startServer } from '../support/processes/server.ts';

describe('a start on the embedded database', () => {
  it('waits for an administration command that has the folder for a moment', async () => {
    const dataDir = await migratedFolder();
    const held = lockDataDir(dataDir);
    const server = launchServer(dataDir);
    await server.printed(/embedded_db\.locked/);
    held.release();
    await server.printed(/service\.started/);
  });

  it('works under node --watch, as npm run dev has it: by this setting Node says what each thread loads', async () => {
    const server = await startServer(await migratedFolder(), { WATCH_REPORT_DEPENDENCIES: '1' });
    expect((await fetch(`${server.origin}/health/ready`)).status).toBe(200);
  });

  it('is tried once on a folder that cannot be opened, and says so in plain words', async () => {
    const dataDir = await migratedFolder();
    const settings = productionSettings();
    const server = await startServer(dataDir, settings);
    server.kill('SIGTERM');
    await server.exited;
    await rename(join(dataDir, 'postgres/global/pg_control'), join(dataDir, 'pg_control'));
    const { code, stdout, stderr } = await launchServer(dataDir, settings).exited;
    expect(code).toBe(1);
    expect(stderr).toContain(`The embedded database in "${dataDir}" does not start`);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(stdout).not.toContain('embedded_db.restarting');
  });
});

describe('an embedded database that ends and cannot start again', () => {
  it('says at once that it is down, and serves again once it can', async () => {
    const dataDir = await migratedFolder();
    const server = await startEmbeddedServer(dataDir, createLogger({ level: 'silent', pretty: false }));
    onTestFinished(() => server.close());
    const control = join(dataDir, 'postgres/global/pg_control');
    await rename(control, join(dataDir, 'pg_control'));
    await expect(server.restart('the folder is broken')).rejects.toThrow(EmbeddedStartError);
    await expect(server.ready()).rejects.toThrow(EmbeddedStartError);
    await rename(join(dataDir, 'pg_control'), control);
    await until('its return', () =>
      server.ready().then(
        () => true,
        () => false,
      ),
    );
    const client = new pg.Client({ user: 'postgres', database: 'postgres', stream: server.createStream });
    await client.connect();
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
  });
});
