import { createHook } from 'node:async_hooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../../../src/database/database.ts';
import { type Account, useApp } from '../../../support/app.ts';
import { login, PASSWORD, person, visitor } from '../../../support/credentials/session.ts';
import { holdTable } from '../../../support/database/blocked.ts';
import type { GraphQLResponse } from '../../../support/graphql.ts';
import { send } from '../../../support/keyed.ts';
import { readMetric } from '../../../support/metrics.ts';
import { liveBytes } from '../../../support/processes/live-bytes.ts';
import { dataOf, expectRejected } from '../../../support/rejection.ts';
import { secondInstance } from '../../../support/second-instance.ts';
import { requestStream, subscribe } from '../../../support/streams/subscriber.ts';
import { clockOf } from '../../../support/time/stepped-clock.ts';

const QUERY = '{ posts { id } }';
/** Without the digest of its text. */
const nameOf = ({ name }: { readonly name: string }) => name.replace(/_[\w-]{22}$/, '');

describe('A full line', () => {
  const app = useApp({
    settings: {
      MAX_CONCURRENT_OPERATIONS: '1',
      MAX_QUEUED_OPERATIONS: '4',
    },
    // The look-up of a key is done once: a held table then holds up operations alone.
    clock: clockOf(() => 1_800_000_000_000),
  });

  const waiting = () => readMetric(app, 'content_graph_graphql_operations_waiting');

  /** Sends requests until one runs and four wait, while a table is held. */
  async function fillLine(ask: () => Promise<GraphQLResponse>) {
    const held = await holdTable(app, 'posts');
    onTestFinished(held.release);
    const crowd = [ask()];
    await expect.poll(() => readMetric(app, 'content_graph_graphql_operations_running')).toBe(1);
    for (let length = 1; length <= 4; length += 1) {
      crowd.push(ask());
      await expect.poll(waiting).toBe(length);
    }
    return { held, crowd };
  }

  it('lets in others at the cost of who has most of it, who is told when to come back', async () => {
    const accounts: Account[] = [];
    for (let index = 0; index < 4; index += 1) {
      const account = await app.account();
      await app.gql(QUERY, { key: account.key });
      accounts.push(account);
    }
    const ask = (index: number) => app.gql(QUERY, { key: accounts[index]?.key });
    const { held, crowd } = await fillLine(() => ask(0));
    const others = [ask(1), ask(2), ask(3)];
    const displaced = await Promise.all(crowd.slice(2));
    for (const rejected of displaced) {
      expectRejected(rejected, { code: 'RATE_LIMITED', status: 429 });
      expect(rejected.headers.get('retry-after')).toBe('1');
    }
    expect(await waiting()).toBe(4);
    await held.release();
    for (const result of await Promise.all([...crowd.slice(0, 2), ...others])) dataOf(result);
  });

  it('takes no token when it rejects a request: X-RateLimit-Remaining counts the request itself alone', async () => {
    const { key } = await app.account();
    const ask = () => app.gql(QUERY, { key });
    const readRemaining = ({ headers }: GraphQLResponse) => Number(headers.get('x-ratelimit-remaining'));
    const remaining = readRemaining(await ask());
    const { held, crowd } = await fillLine(ask);
    const rejected = await ask();
    expectRejected(rejected, { code: 'RATE_LIMITED', status: 429 });
    expect(readRemaining(rejected)).toBe(remaining - crowd.length - 1);
    await held.release();
    for (const result of await Promise.all(crowd)) dataOf(result);
    expect(readRemaining(await ask())).toBe(remaining - crowd.length - 2);
  });
});

describe('Password hashes', () => {
  const app = useApp();

  it('are made two at a time, however many log-ins arrive together', async () => {
    const people = await Promise.all(Array.from({ length: 10 }, () => person(app)));
    const running = new Set<number>();
    const counts: number[] = [];
    const hook = createHook({
      init(id, type) {
        if (type !== 'ARGON2REQUEST') return;
        running.add(id);
        counts.push(running.size);
      },
      before: (id) => void running.delete(id),
    }).enable();
    onTestFinished(() => void hook.disable());
    const responses = await Promise.all(people.map(({ email }) => login(app, { email, password: PASSWORD })));
    expect(responses.map(({ status }) => status)).toEqual(people.map(() => 200));
    expect(counts).toHaveLength(people.length);
    expect(Math.max(...counts)).toBe(2);
  });
});

describe('An account', () => {
  const app = useApp();

  it('has at most 100 sessions: the one used longest ago ends', async () => {
    const { id, email } = await visitor(app);
    const longAgo = Date.now() - 3_600_000;
    await app.prisma.session.createMany({
      data: Array.from({ length: 100 }, (_, index) => ({
        userId: id,
        hash: Buffer.from(`${id} ${index}`),
        lastSeenAt: new Date(longAgo + index * 1_000),
        expiresAt: new Date(Date.now() + 3_600_000),
        absoluteExpiresAt: new Date(Date.now() + 3_600_000),
      })),
    });
    expect((await login(app, { email, password: PASSWORD })).status).toBe(200);
    const left = await app.prisma.session.findMany({ where: { userId: id }, select: { hash: true } });
    expect(left).toHaveLength(100);
    const kept = new Set(left.map(({ hash }) => Buffer.from(hash).toString()));
    expect([`${id} 0`, `${id} 1`, `${id} 2`].map((hash) => kept.has(hash))).toEqual([false, false, true]);
  });

  it('changes its password once in an operation, and nothing of it is locked while passwords are hashed', async () => {
    const { cookie } = await visitor(app);
    const sent: string[] = [];
    const database: Database = {
      ...app.database,
      cancellable(cancellation) {
        const inner = app.database.cancellable(cancellation);
        return {
          query(statement, values) {
            sent.push(`pool ${nameOf(statement)}`);
            return inner.query(statement, values);
          },
        };
      },
      unitOfWork(...options) {
        const work = app.database.unitOfWork(...options);
        const query = work.query.bind(work);
        work.query = (statement, values) => {
          sent.push(`work ${nameOf(statement)}`);
          return query(statement, values);
        };
        return work;
      },
    };
    const instance = secondInstance(app, { database });
    const change = (fields: string) => send(instance, { query: `mutation { ${fields} }`, cookie });
    const field = (from: string, to: string) =>
      `changePassword(currentPassword: ${JSON.stringify(from)}, newPassword: ${JSON.stringify(to)})`;
    const next = `${PASSWORD}, changed`;
    const twice = await change(`a: ${field(PASSWORD, next)} b: ${field(next, PASSWORD)}`);
    expect(twice.codes).toEqual(['BAD_USER_INPUT']);
    sent.length = 0;
    expect((await change(`createPost(title: "T", body: "B") { id } ${field('wrong', next)}`)).codes).toEqual([
      'BAD_USER_INPUT',
    ]);
    sent.length = 0;
    expect((await change(field(PASSWORD, next))).codes).toEqual([]);
    const ofWork = sent.findIndex((name) => name.startsWith('work '));
    expect(sent.indexOf('pool account_password_hash')).toBeGreaterThanOrEqual(0);
    expect(sent.indexOf('pool account_password_hash')).toBeLessThan(ofWork);
    expect(sent[ofWork]).toBe('work account_change_password');
  });
});

describe('The log-out', () => {
  const app = useApp({ settings: { RATE_LIMIT_BURST: '3', RATE_LIMIT_PER_SECOND: '0.001' } });

  it('takes a token, with a session or without one, and still clears a cookie that is no longer good', async () => {
    const logout = (cookie?: string) =>
      app.fetch('/logout', { method: 'POST', headers: cookie === undefined ? {} : { cookie } });
    const { cookie } = await visitor(app);
    const first = await logout(cookie);
    expect(first.status).toBe(204);
    expect(first.headers.get('x-ratelimit-remaining')).toBe('2');
    const again = await logout(cookie);
    expect(again.status).toBe(204);
    expect(again.headers.getSetCookie()[0]).toMatch(/^session_id=;/);
    expect(again.headers.get('x-ratelimit-remaining')).toBe('2');
    const statuses = [];
    for (let index = 0; index < 4; index += 1) statuses.push((await logout()).status);
    expect(statuses).toContain(429);
  });
});

describe('The groups of subscribers', () => {
  const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });

  /** A subscription that nobody else has, of about 3,000 characters. */
  const query = (number: number) =>
    `subscription { postCreated { ${'title body createdAt '.repeat(3)} ${Array.from(
      { length: 12 },
      (_, index) => `a${index}: comments(limit: 1, offset: ${number}) { body }`,
    ).join(' ')} } }`;

  it('hold so many bytes together, and an account an eighth: 429 for it, 503 where all is taken', async () => {
    const config = { ...app.config, maxDistinctSubscriptionBytes: 300_000 };
    const instance = secondInstance(app, { config });
    let number = 0;
    const streams: { close(): Promise<void> }[] = [];
    const fill = async (key: string, same = false) => {
      for (;;) {
        if (!same) number += 1;
        const response = await requestStream(instance, { key, query: query(number) });
        if (response.status !== 200) return response;
        await response.body?.cancel();
        streams.push(await subscribe(instance, { key, query: query(number) }));
        if (same) return response;
      }
    };
    const { key } = await app.account();
    const rejected = await fill(key);
    expect(rejected.status).toBe(429);
    expect(rejected.headers.get('retry-after')).toBe('5');
    expect(await rejected.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    const own = await readMetric(instance, 'content_graph_distinct_subscription_bytes');
    expect(own).toBeGreaterThan(10_000);
    expect(own).toBeLessThanOrEqual(300_000 / 8);

    const statuses = new Set<number>();
    for (let index = 0; index < 12; index += 1) statuses.add((await fill((await app.account()).key)).status);
    expect(statuses).toEqual(new Set([429, 503]));
    expect(await readMetric(instance, 'content_graph_distinct_subscription_bytes')).toBeLessThanOrEqual(
      300_000,
    );
    // What others get already costs nothing more.
    number = 1;
    expect((await fill((await app.account()).key, true)).status).toBe(200);
    for (const stream of streams) await stream.close();
    await expect.poll(() => readMetric(instance, 'content_graph_distinct_subscription_bytes')).toBe(0);
    await expect.poll(async () => (await requestStream(instance, { key, query: query(0) })).status).toBe(200);
  });

  const STREAMS = 40;
  const LONG = '# '.padEnd(100_000, 'x');
  it.each([
    ['documents', (number: number) => ({ query: query(number) })],
    // In one group: what is left of them must be counted for each.
    ['long texts', (number: number) => ({ query: `subscription { postCreated { id } } ${LONG}${number}` })],
    [
      'variables that are not declared',
      (number: number) => ({
        query: 'subscription { postCreated { title } }',
        variables: { z: Array.from({ length: 9_000 }, () => [number]) },
      }),
    ],
  ])('take what is told of them: no %s stay in memory uncounted', async (_what, request) => {
    const told = () => readMetric(app, 'content_graph_distinct_subscription_bytes');
    const open = async (from: number) => {
      // Three times as many would be more than the share of one.
      const { key } = await app.account();
      return Promise.all(
        Array.from({ length: STREAMS }, (_, index) => subscribe(app, { key, ...request(from + index) })),
      );
    };
    // What the first ones load and compile is there for good, and comes by and by.
    const streams = [...(await open(0)), ...(await open(STREAMS))];
    const before = { live: await liveBytes(), told: await told() };
    streams.push(...(await open(2 * STREAMS)));
    const grown = { live: (await liveBytes()) - before.live, told: (await told()) - before.told };
    // A stream has a client, a response and its place in memory too: a third of this. What must not stay is 60 KB or more.
    expect(grown.live).toBeLessThan(1.2 * grown.told + 45_000 * STREAMS);
    for (const stream of streams) await stream.close();
  });
});

describe('Stored responses', () => {
  const app = useApp({ settings: { MAX_IDEMPOTENCY_BYTES_PER_ACCOUNT: '10000' } });
  const create = (key: string, idempotencyKey: string, instance: Pick<typeof app, 'fetch'> = app) =>
    send(instance, {
      query: 'mutation ($title: String!) { createPost(title: $title, body: "b") { title } }',
      variables: { title: `${idempotencyKey} ${'x'.repeat(180)}` },
      key,
      idempotencyKey,
    });

  it('have a budget for each account: a new key beyond it is 429 and does nothing, an old one is replayed', async () => {
    const { key, id } = await app.account();
    const other = await app.account();
    const titles = () => app.prisma.post.count({ where: { authorId: id } });
    let made = 0;
    let rejected = await create(key, 'key 0');
    while (rejected.status === 200 && made < 100) {
      made += 1;
      rejected = await create(key, `key ${made}`);
    }
    expect(rejected).toMatchObject({ status: 429, codes: ['RATE_LIMITED'] });
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(made).toBeGreaterThan(10);
    expect(await titles()).toBe(made);
    const [{ bytes } = { bytes: 0 }] = await app.prisma.$queryRaw<
      { bytes: number }[]
    >`SELECT sum(octet_length(body) + 256)::int AS bytes FROM idempotency_keys WHERE user_id = ${id}::uuid`;
    expect(bytes).toBeLessThan(11_250);
    expect(await create(key, 'key 0')).toMatchObject({ status: 200, replayed: 'true' });
    // Another instance finds out once it has stored an eighth.
    const instance = secondInstance(app);
    const statuses = [];
    for (let index = 0; index < 5; index += 1)
      statuses.push((await create(key, `new ${index}`, instance)).status);
    expect(statuses.slice(-2)).toEqual([429, 429]);
    expect((await create(other.key, 'key 0')).status).toBe(200);
    // Without a key nothing is stored.
    const query = 'mutation { createPost(title: "T", body: "b") { title } }';
    expect((await send(app, { query, key })).status).toBe(200);
  });
});
