import { describe, expect, it } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { useApp } from '../support/app.ts';
import { visitor } from '../support/credentials/session.ts';
import { LOCKS } from '../support/database/locks.ts';
import { besidePool } from '../support/database/postgres.ts';
import {
  CREATE_ALONE,
  CREATE_POST,
  type KeyedRequest,
  postsNamed,
  type RawResponse,
  send,
  storedFor,
  WAYS,
} from '../support/keyed.ts';
import { instanceOnOwnPool } from '../support/second-instance.ts';
import { subscribe, titlesOf } from '../support/streams/subscriber.ts';

const DUPLICATES = 50;
/** The first field waits where api_keys is locked, before it has written anything; the second makes the post. */
const BLOCKED =
  'mutation ($title: String!) { revokeApiKey(id: "00000000-0000-7000-8000-000000000000") createPost(title: $title, body: "b") { id } }';

describe('Identical keyed mutations at two instances', () => {
  const app = useApp({
    settings: {
      // Half of them are for transactions: one is held up, and one is for all the others.
      DATABASE_POOL_SIZE: '4',
    },
  });

  /** Keeps API keys from being ended until it is let go. A table lock owns no transaction id: it holds no events back. */
  async function holdUp() {
    const client = await besidePool(app);
    await client.query('BEGIN');
    await client.query('LOCK TABLE api_keys IN SHARE MODE');
    return {
      /** Resolves once a mutation waits for it. */
      met: () =>
        expect
          .poll(async () => {
            const { rows } = await client.query(
              `SELECT FROM ${LOCKS} WHERE NOT granted AND relation = 'api_keys'::regclass`,
            );
            return rows.length;
          })
          // The note of a key's last use may wait as well.
          .toBeGreaterThan(0),
      letGo: () => client.query('COMMIT'),
    };
  }

  /** A connection that sees which backends keep a key between the transactions of its mutation. */
  async function watchKey(owner: string, idempotencyKey: string) {
    const client = await besidePool(app);
    return {
      async keepers(): Promise<number[]> {
        const { rows } = await client.query<{ pid: number }>(
          `SELECT pid FROM ${LOCKS} WHERE locktype = 'advisory' AND granted
             AND (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 20261124)`,
          [`${owner}/${idempotencyKey}`],
        );
        return rows.map(({ pid }) => pid);
      },
      end: (pid: number | undefined) => client.query('SELECT pg_terminate_backend($1)', [pid]),
    };
  }

  /** As a client does that was told to come back. */
  async function untilDone(
    instance: Pick<TestApp, 'fetch'>,
    request: KeyedRequest,
    first: RawResponse,
  ): Promise<RawResponse> {
    let response = first;
    while (response.status === 409) response = await send(instance, request);
    return response;
  }

  it.each([
    ['one statement at both', WAYS[0], WAYS[0]],
    ['a transaction at both', WAYS[1], WAYS[1]],
    ['one of them at each', WAYS[0], WAYS[1]],
  ] as const)('make one post and give one response, by %s', async (_how, ...ways) => {
    const instances = [await instanceOnOwnPool(app), await instanceOnOwnPool(app)];
    const { key, id } = await app.account();
    for (let turn = 0; turn < 5; turn += 1) {
      const title = `at once ${turn} ${id}`;
      const request = { query: CREATE_ALONE, variables: { title }, key, idempotencyKey: title };
      const responses = await Promise.all(
        Array.from({ length: DUPLICATES }, async (_, index) => {
          const instance = instances[index % 2] ?? app;
          const asked = { ...request, headers: ways[index % 2]?.[1] ?? {} };
          return untilDone(instance, asked, await send(instance, asked));
        }),
      );
      expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(responses[0]?.status).toBe(200);
      expect(responses.filter(({ replayed }) => replayed === null)).toHaveLength(1);
      expect(await postsNamed(app, title)).toBe(1);
    }
    expect(await storedFor(app, id)).toBe(5);
  });

  it('leave connections and events to others while they wait', async () => {
    const other = await instanceOnOwnPool(app);
    const instances = [app, other];
    const person = await visitor(app);
    const streams = [await subscribe(app, { key: person.key }), await subscribe(other, { key: person.key })];
    const title = `waited for ${person.id}`;
    const request = {
      query: BLOCKED,
      variables: { title },
      cookie: person.cookie,
      idempotencyKey: 'k',
    };
    const obstacle = await holdUp();
    const pending = Array.from({ length: DUPLICATES }, (_, index) => {
      const instance = instances[index % 2] ?? app;
      return send(instance, request).then((first) => untilDone(instance, request, first));
    });
    await obstacle.met();

    const others = Array.from({ length: 10 }, (_, index) => `meanwhile ${index} ${person.id}`);
    const done = await Promise.all(
      others.map((name, index) =>
        send(instances[index % 2] ?? app, {
          query: CREATE_POST,
          variables: { title: name },
          cookie: person.cookie,
          idempotencyKey: name,
        }),
      ),
    );
    expect(done.map(({ status }) => status)).toEqual(Array(10).fill(200));
    for (const stream of streams) {
      const seen = new Set<string | undefined>();
      while (seen.size < others.length) seen.add((await stream.receive()).title);
      expect([...seen].sort()).toEqual([...others].sort());
    }
    expect(await postsNamed(app, title)).toBe(0);

    await obstacle.letGo();
    const responses = await Promise.all(pending);
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses[0]).toMatchObject({ status: 200, codes: [] });
    expect(responses.filter(({ replayed }) => replayed === null)).toHaveLength(1);
    expect(await postsNamed(app, title)).toBe(1);
    for (const stream of streams) expect(titlesOf(await stream.until(title))).toEqual([title]);
  });

  it('are 409 with Retry-After past 5 seconds, and the same once the first is done', async () => {
    const other = await instanceOnOwnPool(app);
    const person = await visitor(app);
    const title = `held open ${person.id}`;
    const request = { query: BLOCKED, variables: { title }, cookie: person.cookie, idempotencyKey: 'k' };
    const obstacle = await holdUp();
    const first = send(app, request);
    await obstacle.met();
    // Only then is the key the first one's for as long as it waits.
    const { keepers } = await watchKey(person.id, 'k');
    await expect.poll(keepers).toHaveLength(1);
    const begunMs = performance.now();
    const late = await Promise.all([send(app, request), send(other, request), send(other, request)]);
    expect(performance.now() - begunMs).toBeGreaterThan(4_900);
    for (const response of late) {
      expect(response).toMatchObject({ status: 409, codes: ['IDEMPOTENCY_IN_PROGRESS'], replayed: null });
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    await obstacle.letGo();
    const response = await first;
    expect(response).toMatchObject({ status: 200, replayed: null });
    for (const instance of [app, other])
      expect(await send(instance, request)).toMatchObject({ text: response.text, replayed: 'true' });
    expect(await postsNamed(app, title)).toBe(1);
  });

  it('are given the same although the connection breaks that keeps the key while its mutation waits', async () => {
    const other = await instanceOnOwnPool(app);
    const person = await visitor(app);
    const title = `kept ${person.id}`;
    const request = { query: BLOCKED, variables: { title }, cookie: person.cookie, idempotencyKey: 'kept' };
    const obstacle = await holdUp();
    const first = send(app, request);
    const { keepers, end } = await watchKey(person.id, 'kept');
    await expect.poll(keepers).toHaveLength(1);
    const [keeper] = await keepers();
    await end(keeper);
    const again = send(other, request).then((response) => untilDone(other, request, response));
    await obstacle.letGo();
    const responses = [await untilDone(app, request, await first), await again];
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses[0]?.status).toBe(200);
    expect(await postsNamed(app, title)).toBe(1);
    await expect.poll(keepers).toEqual([]);
  });

  it('get their turn once the first has run out of time: nothing of it keeps the key', async () => {
    const hasty = await instanceOnOwnPool(app, { ...app.config, operationTimeoutMs: 1_000 });
    const person = await visitor(app);
    const title = `hasty ${person.id}`;
    const request = { query: BLOCKED, variables: { title }, cookie: person.cookie, idempotencyKey: 'hasty' };
    const obstacle = await holdUp();
    expect((await send(hasty, request)).status).toBe(504);
    const { keepers } = await watchKey(person.id, 'hasty');
    await expect.poll(keepers).toEqual([]);
    await obstacle.letGo();
    expect(await send(app, request)).toMatchObject({ status: 200, replayed: null });
    expect(await postsNamed(app, title)).toBe(1);
  });

  it.each([
    ['one statement', CREATE_ALONE],
    ['a transaction', CREATE_POST],
  ] as const)('that differ are 422 at the other instance, by %s', async (_how, query) => {
    const own = await instanceOnOwnPool(app);
    const other = await instanceOnOwnPool(app);
    const { key, id } = await app.account();
    const [one, two] = await Promise.all(
      [own, other].map((instance, index) =>
        send(instance, {
          query,
          variables: { title: `differs ${index} ${id}` },
          key,
          idempotencyKey: 'k',
        }),
      ),
    );
    expect([one?.status, two?.status].sort()).toEqual([200, 422]);
    expect(await app.prisma.post.count({ where: { authorId: id } })).toBe(1);
  });
});
