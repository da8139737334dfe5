import { chmod, chown, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { findWriteRejection } from '../../src/database/errors.ts';
import { migrate } from '../../src/database/migrate.ts';
import { tryToWrite } from '../../src/database/preflight.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { pgbouncer } from '../support/database/pgbouncer.ts';
import { connect, instanceThrough, postgresOf } from '../support/database/postgres.ts';
import { send } from '../support/keyed.ts';
import { linesOf } from '../support/log-lines.ts';
import { readMetric } from '../support/metrics.ts';
import { fillDisk, freeDisk } from '../support/processes/filled-disk.ts';
import { mountedDisk } from '../support/processes/mounted.ts';
import { startOwnPostgres } from '../support/processes/own-postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { incompressible, seededRandom } from '../support/random.ts';
import { subscribe, titlesOf } from '../support/streams/subscriber.ts';

const BEGIN = 'database.not_writable';
const END = 'database.writable';
const CREATE = 'mutation ($body: String!) { createPost(title: "t", body: $body) { id author { id } } }';

type Instance = Pick<TestApp, 'fetch'>;

const random = seededRandom('write outage');

const write = async (instance: Instance, key: string) =>
  (await send(instance, { query: CREATE, variables: { body: incompressible(random, 9_000) }, key })).status;
const read = async (instance: Instance, key: string) =>
  (await send(instance, { query: '{ posts(limit: 1) { id } }', key })).status;

async function readiness({ fetch }: Instance): Promise<string> {
  const response = await fetch('/health/ready');
  const { reason = 'ready' } = (await response.json()) as { reason?: string };
  return `${response.status} ${reason}`;
}

const gauges = (instance: Instance) =>
  Promise.all(
    ['content_graph_ready', 'content_graph_database_up', 'content_graph_database_writable'].map((name) =>
      readMetric(instance, name),
    ),
  );

/** What was told of it, but for reminders. */
const told = ({ logged }: TestApp) =>
  logged
    .map((line) => JSON.parse(line) as { readonly event: string; readonly durationSeconds?: number })
    .filter(
      ({ event, durationSeconds }) => event === END || (event === BEGIN && durationSeconds === undefined),
    )
    .map(({ event }) => event);

async function start(settings: Readonly<Record<string, string>>, drop: () => Promise<void>) {
  const app = await startApp({ settings, drop });
  onTestFinished(() => app.stop());
  return { app, key: (await app.account()).key };
}

/** The database is read-only, or no longer; whoever is connected to it is cut off. */
async function setReadOnly(control: pg.Client, on: boolean): Promise<void> {
  await control.query(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = ${on}', current_database()); END $$`,
  );
}
const cutOff = (control: pg.Client) =>
  control.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );

describe('A database that becomes read-only', () => {
  it('is told without a write, reads go on, and the first write after its end is done', async () => {
    const own = await createTestDatabase();
    const { app, key } = await start(own.settings, own.drop);
    const control = await connect(postgresOf(app).url);
    await setReadOnly(control, true);
    await cutOff(control);
    await expect.poll(() => readiness(app)).toBe('503 The database cannot write, because it is read-only.');
    expect(await read(app, key)).toBe(200);
    expect(await write(app, key)).toBe(503);
    expect(await gauges(app)).toEqual([0, 0, 0]);
    const [line] = linesOf(app.logged, BEGIN);
    expect(line).toMatchObject({
      level: 40,
      reason: 'it is read-only',
      hint: 'name the primary and not a standby, and turn default_transaction_read_only off',
    });
    // Its connections stay read-only.
    await setReadOnly(control, false);
    await expect.poll(() => told(app)).toEqual([BEGIN, END]);
    expect(await write(app, key)).toBe(200);
    await expect.poll(() => readiness(app)).toBe('200 ready');
    await expect.poll(() => gauges(app)).toEqual([1, 1, 1]);
    expect(told(app)).toEqual([BEGIN, END]);
    expect(linesOf(app.logged, 'database.statement_failed').map(({ level }) => level)).toEqual([20]);
  });

  it('leaves event streams open, and each of them gets the first post after the outage', async () => {
    const own = await createTestDatabase();
    const { app, key } = await start(own.settings, own.drop);
    const before = await subscribe(app, { key });
    const control = await connect(postgresOf(app).url);
    await setReadOnly(control, true);
    await cutOff(control);
    await expect.poll(() => told(app)).toEqual([BEGIN]);
    expect(await write(app, key)).toBe(503);
    const during = await subscribe(app, { key });
    await setReadOnly(control, false);
    await expect.poll(() => write(app, key)).toBe(200);
    await createPost(app, key, { title: 'second' });
    for (const stream of [before, during])
      expect(titlesOf(await stream.until('second'))).toEqual(['t', 'second']);
  });

  it('for connections of before alone has them replaced, and says nothing', async () => {
    const own = await createTestDatabase();
    const { app, key } = await start(own.settings, own.drop);
    const control = await connect(postgresOf(app).url);
    await setReadOnly(control, true);
    await cutOff(control);
    await expect.poll(() => read(app, key)).toBe(200);
    await setReadOnly(control, false);
    // Whoever gets one of them is rejected.
    await expect.poll(() => write(app, key)).toBe(200);
    await expect.poll(() => readiness(app)).toBe('200 ready');
    expect(linesOf(app.logged, 'database.write_failed')).toEqual([]);
  });
});

/** A server whose database has a small disk of its own. */
async function smallDisk() {
  const server = await startOwnPostgres();
  const { folder } = await mountedDisk(48);
  const { uid, gid } = await stat(server.path('data'));
  await chown(folder, uid, gid);
  const maintenance = await connect(server.url);
  await maintenance.query(`CREATE TABLESPACE small LOCATION '${folder}'`);
  await maintenance.query('CREATE DATABASE content TABLESPACE small');
  const DATABASE_URL = Object.assign(new URL(server.url), { pathname: 'content' }).href;
  const log = createLogger({ level: 'error', pretty: false });
  const database = await openDatabase({ config: loadConfig({ NODE_ENV: 'test', DATABASE_URL }), log });
  await migrate(database).finally(() => database.close());
  return { folder, DATABASE_URL };
}

describe('A disk of PostgreSQL that is full', () => {
  it('is told once, also where a little is left, reads go on, and it ends by itself', async () => {
    const { folder, DATABASE_URL } = await smallDisk();
    const settings = { DATABASE_URL, DATA_DIR: await temporaryFolder() };
    const { app, key } = await start(settings, async () => undefined);
    const pooled = await instanceThrough(app, { url: await pgbouncer(DATABASE_URL) });
    expect([await write(app, key), await write(pooled, key)]).toEqual([200, 200]);
    await fillDisk(folder, 100_000);
    await expect.poll(() => write(app, key)).toBe(503);
    await expect.poll(() => write(pooled, key)).toBe(503);
    // One of each instance.
    await expect.poll(() => told(app)).toEqual([BEGIN, BEGIN]);
    for (let times = 0; times < 20; times += 1) {
      await write(app, key);
      expect([await read(app, key), await read(pooled, key)]).toEqual([200, 200]);
    }
    for (const instance of [app, pooled]) {
      expect(await readiness(instance)).toBe('503 The database cannot write, because its disk is full.');
      expect(await gauges(instance)).toEqual([0, 0, 0]);
    }
    expect(linesOf(app.logged, BEGIN)[0]).toMatchObject({
      reason: 'its disk is full',
      hint: 'make room on the disk of its data',
      error: expect.stringMatching(/No space left on device/),
    });
    await freeDisk(folder);
    await expect.poll(() => told(app)).toEqual([BEGIN, BEGIN, END, END]);
    for (const instance of [app, pooled]) {
      expect(await write(instance, key)).toBe(200);
      await expect.poll(() => readiness(instance)).toBe('200 ready');
      await expect.poll(() => gauges(instance)).toEqual([1, 1, 1]);
    }
    expect(told(app)).toEqual([BEGIN, BEGIN, END, END]);
    expect(new Set(linesOf(app.logged, 'database.statement_failed').map(({ level }) => level))).toEqual(
      new Set([20]),
    );
  });
});

const attempt = (connectionString: string) =>
  tryToWrite({
    ...{ setting: 'DATABASE_URL', connection: { connectionString } },
    ...{ schema: undefined, hasSessions: true },
  });

describe('A try to write', () => {
  it('needs no rights, leaves nothing, and is rejected by files without rights and by a standby', async () => {
    const server = await startOwnPostgres({ settings: { temp_buffers: '1MB' } });
    const owner = await connect(server.url);
    await owner.query(
      'CREATE ROLE nobody LOGIN; REVOKE ALL ON DATABASE postgres FROM PUBLIC; GRANT CONNECT ON DATABASE postgres TO nobody',
    );
    const relations = async () => (await owner.query('SELECT count(*)::int AS count FROM pg_class')).rows;
    const before = await relations();
    const url = new URL(server.url);
    url.username = 'nobody';
    expect(await attempt(url.href)).toBeUndefined();
    expect(await relations()).toEqual(before);
    const files = join(server.path('data'), 'base/pgsql_tmp');
    await chmod(files, 0o500);
    const rejected = await attempt(url.href);
    expect(findWriteRejection(rejected)?.reason).toBe('its files cannot be written');
    await chmod(files, 0o700);
    expect(await attempt(url.href)).toBeUndefined();
    const standby = await (await server.copy()).standby();
    expect(await attempt(standby.url)).toMatchObject({ code: '25006' });
    await standby.stop();
    await expect(attempt(standby.url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  });
});
