import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { DatabaseError } from '../../../src/database/errors.ts';
import { encodeCursor } from '../../../src/engine/queries/pagination.ts';
import { useApp } from '../../support/app.ts';
import { createPost, past, seedPosts } from '../../support/content.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { readMetric } from '../../support/metrics.ts';
import { until } from '../../support/processes/process.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { requestStream, type SubscribeOptions, subscribe } from '../../support/streams/subscriber.ts';

const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
let key = '';
let other = '';
beforeAll(async () => {
  ({ key } = await app.account({ name: 'Ada' }));
  ({ key: other } = await app.account({ name: 'Linus' }));
});

/** The statements that instances send to read events, by a name that they begin with. */
function counted(name: string, fail: (times: number) => Error | undefined = () => undefined) {
  const seen = { times: 0, rows: [] as number[] };
  const database: Database = {
    ...app.database,
    cancellable(cancellation) {
      const inner = app.database.cancellable(cancellation);
      return {
        async query(statement, values) {
          if (!statement.name.startsWith(name)) return inner.query(statement, values);
          seen.times += 1;
          const error = fail(seen.times);
          if (error !== undefined) throw error;
          const rows = await inner.query(statement, values);
          seen.rows.push(rows.length);
          return rows;
        },
      };
    },
  };
  return { seen, database };
}

const AUTHORS = 'subscription { postCreated { title author { name } } }';
const SAME =
  'subscription S { ...F } fragment F on Subscription { postCreated { ... { title } author { name } } }';
const EMAILS = 'subscription { postCreated { title author { email } } }';

describe('subscribers who get the same', () => {
  it('share one statement an event, whatever their account and their text', async () => {
    const { seen, database } = counted('events_postCreated');
    const instance = secondInstance(app, { database });
    const asked: SubscribeOptions[] = [
      { key, query: AUTHORS },
      { key: other, query: AUTHORS },
      { key, query: SAME, method: 'GET' },
    ];
    const streams = await Promise.all(asked.map((options) => subscribe(instance, options)));
    expect(await readMetric(instance, 'content_graph_distinct_subscriptions')).toBe(1);
    // Those who came later than the first move with it from the first event on.
    await createPost(app, key, { title: 'first' });
    for (const stream of streams) await stream.until('first');
    seen.times = 0;
    await createPost(app, key, { title: 'shared' });
    for (const stream of streams)
      expect(await stream.stream.next()).toEqual({
        data: { postCreated: { title: 'shared', author: { name: 'Ada' } } },
      });
    expect(seen.times).toBe(1);
    for (const stream of streams) await stream.close();
    await expect.poll(() => readMetric(instance, 'content_graph_distinct_subscriptions')).toBe(0);
  });

  it('share one statement for all events that they have missed', async () => {
    const witness = await subscribe(app, { key });
    const header = witness.startId;
    for (let n = 0; n < 30; n += 1) await createPost(app, key, { title: `missed ${n}` });
    // An event is readable once no transaction that began before it still runs, in any database of the server.
    await witness.until('missed 29');
    await witness.close();
    const { seen, database } = counted('events_postCreated');
    const instance = secondInstance(app, { database });
    const streams = await Promise.all(
      Array.from({ length: 20 }, (_, n) => subscribe(instance, { key: n % 2 === 0 ? key : other, header })),
    );
    for (const stream of streams) await stream.until('missed 29');
    // Those who came more than a moment after the first read them again.
    expect(seen.rows.every((rows) => rows === 30)).toBe(true);
    expect(seen.times).toBeLessThan(streams.length);
    await expect.poll(() => readMetric(instance, 'content_graph_event_streams_replaying')).toBe(0);
  });

  it('do not share what depends on who asks', async () => {
    const instance = secondInstance(app);
    const mine = await subscribe(instance, { key, query: EMAILS });
    const theirs = await subscribe(instance, { key: other, query: EMAILS });
    expect(await readMetric(instance, 'content_graph_distinct_subscriptions')).toBe(2);
    await createPost(app, key, { title: 'whose' });
    expect((await mine.receive()).title).toBe('whose');
    expect((await theirs.receive()).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
  });

  it('do not share a reported cost', async () => {
    const body = JSON.stringify({ query: AUTHORS });
    const headers = { accept: 'text/event-stream', 'content-type': 'application/json' };
    const asking = { ...headers, authorization: `Bearer ${key}`, 'x-show-cost': '1' };
    const stream = await subscribe(app, { key, query: AUTHORS });
    const told = await app.fetch('/graphql', { method: 'POST', headers: asking, body });
    await createPost(app, key, { title: 'costly' });
    expect(await readEventStream(told).next()).toMatchObject({
      extensions: { cost: { complexity: expect.any(Number) } },
    });
    expect(await stream.stream.next()).not.toHaveProperty('extensions');
  });
});

describe('different subscriptions', () => {
  it('past MAX_DISTINCT_SUBSCRIPTIONS are rejected with 503, and fit again once one has gone', async () => {
    const config = { ...app.config, maxDistinctSubscriptions: 2 };
    const instance = secondInstance(app, { config });
    const one = await subscribe(instance, { key, query: AUTHORS });
    await subscribe(instance, { key });
    await subscribe(instance, { key: other });
    const third = { key, query: 'subscription { postCreated { id } }' };
    const rejected = await requestStream(instance, third);
    expect(rejected.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(rejected.status).toBe(503);
    expect(await rejected.json()).toMatchObject({
      errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }],
    });
    expect(await readMetric(instance, 'content_graph_event_streams_open')).toBe(3);
    await one.close();
    await expect.poll(async () => (await requestStream(instance, third)).status).toBe(200);
  });
});

describe('a database that fails', () => {
  const lost = () => new DatabaseError('unavailable', new Error('as if it were lost'));

  it('keeps its subscribers, who get every event once it is back', async () => {
    const state = { down: true };
    const { seen, database } = counted('events_postCreated', () => (state.down ? lost() : undefined));
    const instance = secondInstance(app, { database });
    const streams = await Promise.all([1, 2, 3].map(() => subscribe(instance, { key, query: AUTHORS })));
    await createPost(app, key, { title: 'while down' });
    await expect.poll(() => seen.times).toBeGreaterThan(1);
    await createPost(app, key, { title: 'still down' });
    state.down = false;
    for (const { receive } of streams) {
      expect((await receive()).title).toBe('while down');
      expect((await receive()).title).toBe('still down');
    }
  });

  it('and fails for good with a statement, gets its events executed', async () => {
    const { database } = counted('events_postCreated', () => new DatabaseError('other', new Error('broken')));
    const instance = secondInstance(app, { database });
    const { receive } = await subscribe(instance, { key, query: AUTHORS });
    await createPost(app, key, { title: 'executed' });
    await createPost(app, key, { title: 'executed too' });
    expect(await receive()).toMatchObject({ title: 'executed', errors: undefined });
    expect((await receive()).title).toBe('executed too');
  });

  it('and is too slow for a post again and again, does not lose it, nor keep others from theirs', async () => {
    const state = { slow: true };
    const late = () => (state.slow ? new DatabaseError('timeout', new Error('late')) : undefined);
    const { seen, database } = counted('posts_by_id', late);
    const instance = secondInstance(app, { database, lookAhead: false });
    const { receive } = await subscribe(instance, { key, query: AUTHORS });
    await createPost(app, key, { title: 'too slow' });
    await expect.poll(() => seen.times).toBeGreaterThan(4);
    await createPost(app, key, { title: 'quick' });
    state.slow = false;
    expect((await receive()).title).toBe('too slow');
    expect((await receive()).title).toBe('quick');
  });

  it('and does not answer in the time of an operation, is asked again', async () => {
    const seen = { cancelled: 0 };
    const database: Database = {
      ...app.database,
      cancellable(cancellation) {
        const inner = app.database.cancellable(cancellation);
        return {
          query(statement, values) {
            if (!statement.name.startsWith('events_postCreated') || seen.cancelled > 0)
              return inner.query(statement, values);
            // It notices its cancellation after the operation has been given up.
            return new Promise((_, reject) => {
              cancellation.onCancel(() => {
                seen.cancelled += 1;
                setImmediate(() => reject(new DatabaseError('timeout', new Error('cancelled'))));
              });
            });
          },
        };
      },
    };
    const config = { ...app.config, operationTimeoutMs: 200 };
    const instance = secondInstance(app, { config, database });
    // It may take a slow machine more than that time to open one.
    const open = () => subscribe(instance, { key, query: AUTHORS }).catch(() => undefined);
    const { receive } = await until('an open stream', open);
    await createPost(app, key, { title: 'at last' });
    expect(await receive()).toMatchObject({ title: 'at last', errors: undefined });
    expect(seen.cancelled).toBe(1);
  });

  it('and is too slow for a statement each time, gets the post executed', async () => {
    const { seen, database } = counted(
      'events_postCreated',
      () => new DatabaseError('timeout', new Error('late')),
    );
    const instance = secondInstance(app, { database });
    const { receive } = await subscribe(instance, { key, query: AUTHORS });
    await createPost(app, key, { title: 'in parts' });
    expect(await receive()).toMatchObject({ title: 'in parts', errors: undefined });
    expect(seen.times).toBe(3);
  });
});

describe('subscribers whose cursors are the same but for their milliseconds', () => {
  it('get the page of their own', async () => {
    const { id: authorId, key: own } = await app.account({ name: 'Grace' });
    const [, second = ''] = await seedPosts(app, [
      { authorId, createdAt: past(100), title: 'first' },
      { authorId, createdAt: past(500), title: 'second' },
    ]);
    // After an instant between the two, and after one behind both, with one id.
    const cursors = [past(400), past(550)].map((createdAt) => encodeCursor({ createdAt, id: second }));
    const query =
      'subscription ($after: String) { postCreated { title author { postsConnection(first: 1, after: $after) { nodes { title } } } } }';
    const streams = await Promise.all(
      cursors.map(async (after) => {
        const response = await app.fetch(
          '/graphql',
          graphqlPost(query, { key: own, variables: { after }, headers: { accept: 'text/event-stream' } }),
        );
        return readEventStream(response);
      }),
    );
    for (const stream of streams) await stream.block();
    await createPost(app, own, { title: 'an event' });
    const pages = await Promise.all(streams.map(async (stream) => JSON.stringify(await stream.next())));
    expect(pages.map((page) => /"(first|second)"/.exec(page)?.[1])).toEqual(['first', 'second']);
    for (const stream of streams) await stream.close();
  });
});
