import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { expect, it } from 'vitest';
import { connect } from '../support/database/postgres.ts';
import { type GraphqlOptions, graphqlPost, readResponse } from '../support/graphql.ts';
import { startLoop, temporaryFolder, until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { seededRandom } from '../support/random.ts';
import { EVENTS_AHEAD, expectAllFound, randomWords } from '../support/search.ts';
import { makeKey, ownDatabase, UNLIMITED } from './own-database.ts';
import { type RestartedServer, restartedServer } from './restarted-server.ts';

/** CRASH_KILLS says how many there are while others write. */
const KILLS = Number(process.env.CRASH_KILLS ?? 8);
/** Enough for a rebuild of many transactions. */
const POSTS = 2_000;
const WRITERS = ['one', 'two', 'three', 'four'];
const WRITE_PAUSE_MS = 20;
const PAGE = 50;
/** With small buckets: see there. */
const HOOK = `--import=${new URL('./indexing/hook.ts', import.meta.url).href}`;

const TAGS = ['a', 'b', 'c', 'd'];
const CREATE =
  'mutation ($title: String!, $body: String!, $tags: [String!]) { createPost(title: $title, body: $body, tags: $tags) { id } }';
const UPDATE =
  'mutation ($id: ID!, $title: String, $body: String, $tags: [String!]) { updatePost(id: $id, title: $title, body: $body, tags: $tags) { id } }';
const DELETE = 'mutation ($id: ID!) { deletePost(id: $id) }';

/** The lock of the instance that indexes (src/app/create-app.ts). */
const INDEXING = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 2026113000 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS is`;
const WAITING = 'SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass) AS is';
const CAUGHT_UP = `SELECT ahead = 0 AND (SELECT phase IS NULL FROM search_position) AS is FROM (${EVENTS_AHEAD}) AS events`;
const WRONG = `SELECT
  (SELECT count(*)::int FROM search_entries e FULL JOIN posts p ON p.id = e.post_id WHERE e.version IS DISTINCT FROM p.version) AS stale,
  (SELECT count(*)::int FROM search_entries e WHERE e.bucket <> (SELECT b.bucket FROM search_buckets b
     WHERE (b.from_at, b.from_id) <= (e.created_at, e.post_id) ORDER BY b.from_at DESC, b.from_id DESC LIMIT 1)) AS misplaced`;
const REBUILDING = `SELECT phase = 'posts' AND rewrites AS is FROM search_position`;
const COUNTED = 'SELECT name, count(*)::int AS "postCount" FROM tags GROUP BY name ORDER BY name COLLATE "C"';

async function is(db: pg.Client, sql: string, values: readonly string[] = []): Promise<boolean> {
  return (await db.query<{ is: boolean }>(sql, [...values])).rows[0]?.is === true;
}

/** Posts of the past, three to a millisecond, that no event tells of. Their ids. */
async function seedPosts(db: pg.Client): Promise<string[]> {
  const random = seededRandom('search index: posts');
  const texts = () => Array.from({ length: POSTS }, () => randomWords(random));
  const { rows } = await db.query<{ id: string }>(
    `INSERT INTO posts (id, title, body, author_id, created_at)
     SELECT gen_random_uuid(), title, CASE WHEN n <= 3 THEN 'zebra' ELSE body END, (SELECT id FROM users LIMIT 1),
       '2020-01-01T00:00:00Z'::timestamptz + (n / 3) * interval '1 millisecond'
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS t(title, body, n) RETURNING id`,
    [texts(), texts()],
  );
  return rows.map(({ id }) => id);
}

it('the search index and the counts of tags are complete in the end, whatever instance is killed while it writes them', async () => {
  const database = { DATABASE_URL: await ownDatabase() };
  const folders = [await temporaryFolder(), await temporaryFolder()] as const;
  expect((await admin(['database', 'migrate'], folders[0], database)).code).toBe(0);
  const key = await makeKey(folders[0], database);
  const db = await connect(database.DATABASE_URL);
  const known = await seedPosts(db);
  const start = (folder: string) =>
    restartedServer(folder, { ...UNLIMITED, ...database, NODE_OPTIONS: HOOK });
  const first = await start(folders[0]);
  await until('the first instance to index', () => is(db, INDEXING));
  const servers = [first, await start(folders[1])] as const;
  let indexing: RestartedServer = first;
  const killing = seededRandom('search index: kills');

  async function crash(): Promise<void> {
    const [next = first] = servers.filter((server) => server !== indexing);
    await indexing.crash(() => until('the other instance to index', () => is(db, INDEXING)));
    indexing = next;
  }

  /**
   * Kills the instance in a transaction of the index, as it writes to a table, once it has done some of them. Whether it
   * was writing all entries again.
   */
  async function crashAt(table: string, meanwhile?: () => Promise<void>): Promise<boolean> {
    for (let left = killing.below(4); ; left -= 1) {
      await db.query(`BEGIN; LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`);
      await meanwhile?.();
      meanwhile = undefined;
      await until(`a write to ${table}`, () => is(db, WAITING, [table]));
      if (left === 0) break;
      await db.query('ROLLBACK');
    }
    await crash();
    const isRebuilding = await is(db, REBUILDING);
    await db.query('ROLLBACK');
    return isRebuilding;
  }

  const ask = async (origin: string, query: string, options?: GraphqlOptions) =>
    readResponse(await fetch(`${origin}/graphql`, graphqlPost(query, { key, ...options })));

  /** Nobody knows what became of a request whose connection was lost. */
  function startWriter(label: string) {
    const random = seededRandom(`search index: writer ${label}`);
    return startLoop(async () => {
      const id = random.pick(known);
      const [title, body] = [randomWords(random), randomWords(random)];
      const tags = TAGS.filter(() => random.below(3) === 0);
      const query = random.pick([CREATE, CREATE, UPDATE, UPDATE, DELETE]);
      const origin = await random.pick(servers).origin();
      const response = await ask(origin, query, { variables: { id, title, body, tags } }).catch(
        () => undefined,
      );
      const created: string | undefined = response?.data?.createPost?.id;
      if (created !== undefined) known.push(created);
      await delay(WRITE_PAUSE_MS);
    });
  }

  async function expectComplete(): Promise<void> {
    await until('the index', () => is(db, CAUGHT_UP));
    const { rows: posts } = await db.query(
      'SELECT id, title, body FROM posts ORDER BY created_at DESC, id DESC',
    );
    const origin = await first.origin();
    const gql = (query: string, options?: GraphqlOptions) => ask(origin, query, options);
    // A prefix searches a part of the buckets for a page.
    expect(await expectAllFound({ gql }, key, posts, PAGE)).toBeGreaterThan(0);
    expect((await db.query(WRONG)).rows).toEqual([{ stale: 0, misplaced: 0 }]);
    const { data } = await gql('{ tags(first: 100, orderBy: NAME) { nodes { name postCount } } }');
    expect(data.tags.nodes).toEqual((await db.query(COUNTED)).rows);
  }

  const countBuckets = async () =>
    Number((await db.query('SELECT count(*) FROM search_buckets')).rows[0].count);
  await until('the first buckets', async () => (await countBuckets()) > 0);
  const bucketsBefore = await countBuckets();
  const writers = WRITERS.map(startWriter);
  for (let count = 0; count < KILLS; count += 1)
    await crashAt(killing.pick(['search_position', 'tag_counts', 'search_entries']));
  await Promise.all(writers.map((writer) => writer.stop()));
  await expectComplete();
  const buckets = await countBuckets();
  expect(buckets).toBeGreaterThan(bucketsBefore);

  await db.query(`UPDATE search_entries SET document = ''`);
  const rebuild = async () => {
    const { json } = await admin(['search', 'rebuild'], folders[0], database);
    expect(json).toEqual({ rebuilding: true });
  };
  expect(await crashAt('search_entries', rebuild)).toBe(true);
  expect(await crashAt('search_entries')).toBe(true);
  await expectComplete();
  process.stdout.write(
    `${KILLS} kills and 2 in a rebuild, ${known.length - POSTS} posts created, ${buckets} buckets\n`,
  );
});
