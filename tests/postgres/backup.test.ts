import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { migrateTo } from '../../src/database/migrate.ts';
import { DEFAULT_SCHEMA, settingsSql } from '../../src/database/session-settings.ts';
import { pgEndpoint } from '../../src/database/transfer/endpoints.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { createComment, createPost } from '../support/content.ts';
import { gqlAs, visitor } from '../support/credentials/session.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { createEmptyDatabase } from '../support/database/empty-database.ts';
import { LOCKS } from '../support/database/locks.ts';
import { CREATE_POST, send } from '../support/keyed.ts';
import { endOf, launchAdmin, partsIn } from '../support/processes/backups.ts';
import { expectOneLine } from '../support/processes/mistakes.ts';
import { type Process, temporaryFolder, until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { LAST, Listeners } from '../support/streams/listeners.ts';

const SECRET_KEY = 'the-s3cret-of-both-machines-0000000000000000';

async function target(label: string): Promise<string> {
  const { url, drop } = await createEmptyDatabase('backup', label);
  onTestFinished(drop);
  return url;
}

/** The service on a folder, or on a database on PostgreSQL. */
async function open(settings: Readonly<Record<string, string>>) {
  const app = await startApp({ settings, drop: async () => undefined }, { settings: { SECRET_KEY } });
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= app.stop();
    return stopping;
  };
  onTestFinished(stop);
  return { app, stop };
}

/** A connection to a migrated database with a table that is locked until `free`. */
async function locked(url: string, table: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table}`);
  return {
    /** Resolves once a command waits for the table, whose pieces it looks for before its COPY. Jobs of a service wait for tables, too. */
    wanted: (command: Process) =>
      until('a wait for the table', async () => {
        // A transaction sees the sessions of its first look until it clears them.
        await client.query('SELECT pg_stat_clear_snapshot()');
        const { rows } = await client.query(
          `SELECT FROM ${LOCKS} JOIN pg_stat_activity AS activity USING (pid)
             WHERE relation = $1::regclass AND NOT granted AND activity.query LIKE ANY ('{COPY%,SELECT min(at)%}')`,
          [table],
        );
        if (command.stderr !== '') throw new Error(command.stderr);
        return rows.length > 0;
      }),
    /** Ends the connections that wait for it. */
    cut: () =>
      client.query(
        `SELECT pg_terminate_backend(pid) FROM ${LOCKS} WHERE relation = $1::regclass AND NOT granted`,
        [table],
      ),
    free: () => client.end(),
  };
}

async function migratedDatabase(): Promise<string> {
  const { settings, drop } = await createTestDatabase();
  onTestFinished(drop);
  return settings.DATABASE_URL ?? '';
}

const EVERYTHING = `{ posts(limit: 20) { id title body tags createdAt commentCount author { id name }
  comments(limit: 10) { id body createdAt author { name } } } }`;

/** The digests of what neither a restore nor a service that only reads changes. */
function contentIn(file: string): object {
  const { posts, tags, comments, users, api_keys, idempotency_keys: responses } = endOf(file).tables;
  // Rows of keys have the time of their last use.
  return { posts, tags, comments, users, keys: api_keys.rows, responses };
}

it('A backup goes from the embedded database to PostgreSQL and back: content, keys, stored responses and event ids', async () => {
  const [folder, files, back] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()];
  expect(await admin(['database', 'migrate'], folder)).toMatchObject({ code: 0 });
  const url = await target('there and back');
  const inPostgres = { DATABASE_URL: url, DATA_DIR: await temporaryFolder() };
  const [first, second] = [join(files, 'first'), join(files, 'second')];

  const { app: before, stop: stopBefore } = await open({ DATA_DIR: folder });
  const author = await before.account();
  const person = await visitor(before);
  const acknowledged: string[] = [];
  const scene = { app: before as TestApp, author, acknowledged };
  const tell = async (...titles: string[]) => {
    for (const title of titles) await createPost(scene.app, author.key, { title, tags: ['moved', 'übrig'] });
    acknowledged.push(...titles);
  };
  const listeners = new Listeners(scene);
  await listeners.come(3);
  await tell('one', 'two', 'three');
  await listeners.have('three');
  await listeners.leave();
  const keyed = { query: CREATE_POST, variables: { title: 'once' }, idempotencyKey: 'once', key: author.key };
  const responded = await send(before, keyed);
  acknowledged.push('once');
  await createComment(before, author.key, JSON.parse(responded.text).data.createPost.id);
  const { data: all } = await before.gql(EVERYTHING, { key: author.key });
  await stopBefore();

  /** The service as it is on the restored database. */
  async function check(settings: Readonly<Record<string, string>>, file: string): Promise<void> {
    const restored = await admin(['database', 'restore', file], settings.DATA_DIR ?? '', {
      ...settings,
      SECRET_KEY,
    });
    expect(restored, restored.stderr).toMatchObject({ code: 0, stderr: '', json: { applied: [] } });
    expect(restored.json.keys).toContainEqual(expect.objectContaining({ prefix: author.key.slice(0, 10) }));
    const { app, stop } = await open(settings);
    scene.app = app;
    expect((await app.gql(EVERYTHING, { key: author.key })).data).toEqual(all);
    expect(await send(app, keyed)).toMatchObject({ status: 200, text: responded.text, replayed: 'true' });
    expect((await gqlAs(app, person.cookie, '{ viewer { id } }')).status).toBe(401);
    await stop();
  }
  const backUp = (file: string, settings: Readonly<Record<string, string>>) =>
    admin(['database', 'backup', file], settings.DATA_DIR ?? '', settings);

  expect(await backUp(first, { DATA_DIR: folder })).toMatchObject({ code: 0, stderr: '' });
  await check(inPostgres, first);
  expect(await backUp(second, inPostgres)).toMatchObject({ code: 0, stderr: '' });
  expect(contentIn(second)).toEqual(contentIn(first));
  expectOneLine(
    await launchAdmin(['database', 'restore', first], inPostgres.DATA_DIR, inPostgres).exited,
    /The target is not empty: its schema "public" has the table/,
  );
  await check({ DATA_DIR: back }, second);
  scene.app = (await open({ DATA_DIR: back })).app;
  await tell(LAST);
  expect(await listeners.judge()).toBe(0);
});

it('A backup of PostgreSQL is a snapshot, and requests wait for nothing', async () => {
  const url = await migratedDatabase();
  const settings = { DATABASE_URL: url };
  const file = join(await temporaryFolder(), 'backup');
  const { app } = await open(settings);
  const { key } = await app.account();
  await createPost(app, key, { title: 'before' });
  const lock = await locked(url, 'document_publications');
  const backup = launchAdmin(['database', 'backup', file], await temporaryFolder(), settings);
  await lock.wanted(backup);
  await createPost(app, key, { title: 'meanwhile' });
  await lock.free();
  expect(await backup.exited).toMatchObject({ code: 0, stderr: '' });
  expect(endOf(file).tables.posts.rows).toBe(1);
});

it.each([
  ['is interrupted', 'SIGINT', 130],
  ['is terminated', 'SIGTERM', 143],
] as const)('A backup that %s leaves nothing', async (_what, signal, code) => {
  const url = await migratedDatabase();
  const folder = await temporaryFolder();
  const lock = await locked(url, 'posts');
  const backup = launchAdmin(['database', 'backup', join(folder, 'backup')], await temporaryFolder(), {
    DATABASE_URL: url,
  });
  await lock.wanted(backup);
  await until('a part', async () => partsIn(folder).length === 1);
  backup.kill(signal);
  expect(await backup.exited).toMatchObject({ code, stderr: '' });
  expect(readdirSync(folder)).toEqual([]);
  await lock.free();
});

it('A backup whose connection is lost leaves nothing', async () => {
  const url = await migratedDatabase();
  const folder = await temporaryFolder();
  const lock = await locked(url, 'posts');
  const backup = launchAdmin(['database', 'backup', join(folder, 'backup')], await temporaryFolder(), {
    DATABASE_URL: url,
  });
  await lock.wanted(backup);
  await lock.cut();
  expectOneLine(await backup.exited, /connection was lost/);
  expect(readdirSync(folder)).toEqual([]);
  await lock.free();
});

const LEVEL = '20261124020000_passing_refusals';

it('A backup of an earlier migration is restored as it was, and migrated', async () => {
  const [folder, restored] = [await temporaryFolder(), await temporaryFolder()];
  const [url, file] = [await target('earlier'), join(folder, 'backup')];
  const migrations = join(import.meta.dirname, '../../prisma/migrations');
  const all = readdirSync(migrations)
    .filter((name) => /^\d/.test(name))
    .sort()
    .map((name) => ({
      name,
      checksum: hash('sha256', readFileSync(join(migrations, name, 'migration.sql')), 'hex'),
    }));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(settingsSql({ schema: DEFAULT_SCHEMA }));
  await client.query('BEGIN');
  const early = all.filter(({ name }) => name <= LEVEL);
  await migrateTo(pgEndpoint(client), DEFAULT_SCHEMA, early, 'The test');
  await client.query(`INSERT INTO users (id, name, email, email_key) VALUES (gen_random_uuid(), 'Early', 'e@example.org', 'e@example.org');
    INSERT INTO posts (id, title, body, author_id) SELECT gen_random_uuid(), 'early', 'b', id FROM users; COMMIT`);
  await client.end();
  expect(
    await admin(['database', 'backup', file], await temporaryFolder(), { DATABASE_URL: url }),
  ).toMatchObject({
    code: 0,
  });
  const { code, json, stderr } = await admin(['database', 'restore', file], restored);
  const later = all.flatMap(({ name }) => (name <= LEVEL ? [] : [name]));
  expect({ code, applied: json?.applied }, stderr).toEqual({ code: 0, applied: later });
  expect((await admin(['user', 'list'], restored)).json).toMatchObject([{ email: 'e@example.org' }]);
});

it('A backup with events from before the first stream, when the log has no state, is restored', async () => {
  const [folder, restored] = [await temporaryFolder(), await temporaryFolder()];
  const [url, file] = [await migratedDatabase(), join(folder, 'backup')];
  const settings = { DATABASE_URL: url, DATA_DIR: await temporaryFolder() };
  const { app, stop } = await open(settings);
  const { key } = await app.account();
  await createPost(app, key, { title: 'before any stream' });
  expect(await app.prisma.event.count()).toBe(1);
  expect(await app.prisma.eventLog.count()).toBe(0);
  await stop();
  const backup = await admin(['database', 'backup', file], settings.DATA_DIR, settings);
  expect(backup, backup.stderr).toMatchObject({ code: 0 });
  const { code, stderr } = await admin(['database', 'restore', file], restored);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});
