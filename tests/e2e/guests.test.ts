import { beforeAll, describe, expect, it } from 'vitest';
import { CREDENTIALS_CHANNEL } from '../../src/platform/db/channels.ts';
import { statement } from '../../src/platform/db/statement.ts';
import { enter, type Guest, lookAfresh, UNTOUCHED, useEmbeddedApp } from '../support/database/guests.ts';
import { send } from '../support/keyed.ts';
import { linesOf } from '../support/log-lines.ts';

const app = useEmbeddedApp();
const CHANGED = 'the session of the embedded database was found changed; it was restored';

const READ =
  '{ posts(limit: 3) { id title createdAt commentCount author { name } comments { body author { email } } } }';
const POST = 'mutation ($title: String!) { createPost(title: $title, body: "Body.") { id title } }';
const COMMENT =
  'mutation ($id: ID!) { createComment(postId: $id, body: "Comment.") { id post { commentCount } } }';

let key = '';
let count = 0;

/** What the service's connection has set, and finds under the names of its tables. */
const SESSION = statement<{ readonly state: unknown }>(
  'session',
  `SELECT json_build_object('settings', (SELECT json_agg(name || ' = ' || setting ORDER BY name) FROM pg_settings
      WHERE source = 'session' AND name NOT LIKE 'transaction\\_%' AND name <> 'temp_buffers'),
    'user', session_user, 'role', current_user, 'posts', 'posts'::regclass::oid)::text AS state`,
);

/** All that the service does with its session: reads, writes, triggers, replays. */
async function asUsual(): Promise<{ readonly session: unknown }> {
  count += 1;
  const title = `„${count}“ ✓ \\ '`;
  const request = { query: POST, variables: { title }, idempotencyKey: `post-${count}`, key };
  const [posted, again] = [await send(app, request), await send(app, request)];
  expect(posted.text).toContain(JSON.stringify(title));
  expect(again).toMatchObject({ status: 200, text: posted.text, replayed: 'true' });
  const { id } = (JSON.parse(posted.text) as { data: { createPost: { id: string } } }).data.createPost;
  const commented = await app.gql(COMMENT, { key, variables: { id } });
  expect(commented.data?.createComment?.post, JSON.stringify(commented.errors)).toEqual({ commentCount: 1 });
  const { data, errors } = await app.gql(READ, { key });
  expect(errors).toBeUndefined();

  expect(data.posts[0]).toMatchObject({ title, commentCount: 1, comments: [{ body: 'Comment.' }] });
  const [row] = await app.database.query(SESSION, []);
  return { session: row?.state };
}

beforeAll(async () => {
  ({ key } = await app.account());
  await app.database.query(statement('poor', 'CREATE ROLE guest_poor'), []);
});

interface Kind {
  readonly kind: string;
  /** What a guest does, */
  readonly sql: string;
  /** how it sees that it is there, and what it sees. */
  readonly look: string;
  readonly found: unknown;
  /** Whether others see it, too: the session is one, and they are not disturbed. */
  readonly shared?: true;
}

const setting = (name: string, value: string, found: string): Kind => ({
  kind: `${name} = ${value}`,
  sql: `SET ${name} = ${value}`,
  look: `SHOW ${name}`,
  found,
});

const KINDS: readonly Kind[] = [
  {
    // The first: it cannot be set once there was a temporary table.
    kind: 'temp_buffers, which a temporary table makes permanent',
    sql: 'SET temp_buffers = 200; CREATE TEMP TABLE guest_b AS SELECT 1 AS n',
    look: 'SELECT n FROM guest_b',
    found: 1,
    shared: true,
  },
  setting('search_path', "''", '""'),
  setting('session_replication_role', 'replica', 'replica'),
  setting('default_transaction_read_only', 'on', 'on'),
  setting('standard_conforming_strings', 'off', 'off'),
  setting('client_encoding', 'LATIN1', 'LATIN1'),
  { ...setting('role', 'guest_poor', 'guest_poor'), look: 'SELECT current_user' },
  {
    kind: 'another user',
    sql: 'SET SESSION AUTHORIZATION guest_poor',
    look: 'SELECT session_user',
    found: 'guest_poor',
  },
  {
    kind: 'a temporary table with the name of a table',
    sql: 'CREATE TEMP TABLE posts (title text); CREATE TEMP SEQUENCE guest_s; CREATE TEMP VIEW comments AS SELECT 1',
    look: 'SELECT count(*)::int FROM posts',
    found: 0,
    shared: true,
  },
  {
    kind: 'a temporary function and a temporary type',
    sql: "CREATE TYPE pg_temp.guest_t AS ENUM ('a'); CREATE FUNCTION pg_temp.guest_f() RETURNS int RETURN 7",
    look: 'SELECT pg_temp.guest_f()',
    found: 7,
    shared: true,
  },
  {
    kind: 'a prepared statement',
    sql: 'PREPARE guest_p AS SELECT 5',
    look: 'EXECUTE guest_p',
    found: 5,
    shared: true,
  },
  {
    kind: 'a cursor',
    sql: 'DECLARE guest_c SCROLL CURSOR WITH HOLD FOR SELECT 6',
    look: 'FETCH ABSOLUTE 1 FROM guest_c',
    found: 6,
    shared: true,
  },
  {
    kind: 'LISTEN',
    sql: 'LISTEN "Guest"',
    look: "SELECT channel FROM pg_listening_channels() AS channel WHERE channel = 'Guest'",
    found: 'Guest',
    shared: true,
  },
  {
    kind: 'advisory locks, held more than once',
    sql: 'SELECT pg_advisory_lock(-7), pg_advisory_lock(-7), pg_advisory_lock_shared(1, -2), pg_advisory_lock_shared(1, -2)',
    look: "SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory'",
    found: 2,
    shared: true,
  },
  {
    kind: 'an advisory lock, held more often than is asked for',
    sql: 'SELECT count(pg_advisory_lock(8)) FROM generate_series(1, 1500)',
    look: "SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory'",
    found: 1,
    shared: true,
  },
];

describe('what a guest of the embedded database has for itself', () => {
  it.for(KINDS)('disturbs nobody and ends with it: $kind', async ({ sql, look, found, shared }) => {
    const before = await asUsual();
    const [guest, other] = [await enter(app), await enter(app)];
    const seen = await other.ask(look).catch(String);
    await guest.ask(sql);
    expect(await guest.ask(look)).toEqual([found]);
    expect(await asUsual()).toEqual(before);
    if (shared !== true) expect(await other.ask(look).catch(String)).toEqual(seen);
    expect(await guest.ask(look)).toEqual([found]);
    expect(await asUsual()).toEqual(before);
    await other.leave();
    expect(await guest.ask(look)).toEqual([found]);
    await guest.leave();
    await guest.ended;
    expect(await lookAfresh(app)).toEqual(UNTOUCHED);
    expect(await asUsual()).toEqual(before);
  });

  it('disturbs nobody and ends with it: a statement that the protocol has prepared', async () => {
    const before = await asUsual();
    const guest = await enter(app);
    const named = { name: 'guest_named', text: 'SELECT $1::int + 1 AS n' };
    for (const value of [1, 2]) {
      expect((await guest.client.query({ ...named, values: [value] })).rows).toEqual([{ n: value + 1 }]);
      expect(await asUsual()).toEqual(before);
    }
    guest.vanish();
    expect(await lookAfresh(app)).toEqual(UNTOUCHED);
  });

  it('lasts no longer than until another has its turn where PostgreSQL does not tell of it', async () => {
    const [guest, other] = [await enter(app), await enter(app)];
    const look = "SELECT NULLIF(current_setting('guest.own', true), '')";
    await guest.ask("SET guest.own = 'mine'");
    expect(await other.ask(look)).toEqual([null]);
    await asUsual();
    expect(await guest.ask(look)).toEqual([null]);
  });

  it.for([
    ['DISCARD ALL', ['LISTEN', 'prepared statements']],
    ['DEALLOCATE ALL', ['prepared statements']],
    ['UNLISTEN *', ['LISTEN']],
  ] as const)('may be what is the service’s, which is made anew: %s', async ([sql, what]) => {
    const before = await asUsual();
    await asUsual();
    const guest = await enter(app);
    const told = linesOf(app.logged, CHANGED).length;
    await guest.ask(sql);
    expect(await asUsual()).toEqual(before);
    await expect
      .poll(() =>
        linesOf(app.logged, CHANGED)
          .slice(told)
          .flatMap((line) => line.what),
      )
      .toEqual(what);
    await guest.leave();
    await guest.ended;
    expect(await lookAfresh(app)).toEqual(UNTOUCHED);
  });

  it('cannot keep the service from hearing: it is told that it may have missed something', async () => {
    await asUsual();
    const heard: unknown[] = [];
    const stop = app.database.notified?.((notification) => void heard.push(notification?.payload));
    const [guest, other] = [await enter(app), await enter(app)];
    await guest.ask(`BEGIN; UNLISTEN *; NOTIFY ${CREDENTIALS_CHANNEL}, 'unheard'; COMMIT`);
    // Before the service has the session again.
    await other.ask(`NOTIFY ${CREDENTIALS_CHANNEL}, 'heard'`);
    await expect.poll(() => heard).toEqual([undefined, 'heard']);
    stop?.();
  });

  it('is nobody else’s where it cannot be given back to it', async () => {
    const before = await asUsual();
    const [guest, other] = [await enter(app), await enter(app)];
    await other.ask('CREATE TEMP TABLE posts (title text)');
    await other.ask('CREATE ROLE guest_short');
    await guest.ask("SET search_path = ''");
    await guest.ask('SET ROLE guest_short');
    await asUsual();
    await other.ask('DROP ROLE guest_short');
    await asUsual();
    await expect(guest.ask('SELECT 1')).rejects.toThrow('its settings cannot be set again');
    await guest.ended;
    expect(await asUsual()).toEqual(before);
    await other.leave();
    expect(await lookAfresh(app)).toEqual(UNTOUCHED);
  });

  it('takes no place of another once it was ended', async () => {
    const host = await enter(app);
    const refused: Guest[] = [];
    // More than there are places.
    for (let round = 0; round < 110; round += 1) {
      const guest = await enter(app);
      await host.ask('CREATE ROLE guest_short');
      await guest.ask('SET ROLE guest_short');
      await host.ask('DROP ROLE guest_short');
      await expect(guest.ask('SELECT 1')).rejects.toThrow('its settings cannot be set again');
      await guest.ended;
      refused.push(guest);
    }
    expect(refused).toHaveLength(110);
    await host.leave();
    await asUsual();
  });
});
