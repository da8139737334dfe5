import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { readMetric } from '../../support/metrics.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { useSocket } from '../../support/socket.ts';
import { ACCEPT_MULTIPART, subscribeMultipart } from '../../support/streams/multipart-stream.ts';
import { type Method, requestStream, subscribe, titlesOf } from '../../support/streams/subscriber.ts';

const METHODS: readonly Method[] = ['GET', 'POST'];

describe('a stream in the multipart protocol', () => {
  const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '20' } });
  const socket = useSocket(app);
  let key = '';
  beforeAll(async () => {
    ({ key } = await app.account({ name: 'Ada' }));
  });

  it.each(METHODS)('opens with a heartbeat and has a payload for each post, over %s', async (method) => {
    const query = 'subscription { postCreated { id title author { name } } }';
    const stream = await subscribeMultipart(socket, { key, method, query });
    expect(await stream.part()).toEqual({ json: '{}', payload: undefined });
    const id = await createPost(app, key, { title: 'live' });
    const { data, extensions, ...rest } = await stream.payload();
    expect(data).toEqual({ postCreated: { id, title: 'live', author: { name: 'Ada' } } });
    expect(extensions).toEqual({ eventId: expect.stringMatching(/^[\w-]+$/) });
    expect(rest).toEqual({});
    await stream.close();
  });

  it('has the same events in the same order as one of Server-Sent Events, with the same ids', async () => {
    const multipart = await subscribeMultipart(socket, { key });
    const sse = await subscribe(socket, { key });
    await app.gql(
      `mutation {
        a: createPost(title: "a", body: "b") { id }
        b: createPost(title: "b", body: "b") { id }
        c: createPost(title: "c", body: "b") { id }
      }`,
      { key },
    );
    const events = await multipart.until('c');
    expect(titlesOf(events)).toEqual(['a', 'b', 'c']);
    expect(events).toEqual(await sse.until('c'));
    await multipart.close();
    await sse.close();
  });

  it.each([
    '\r\n--graphql--\r\n',
    '--graphql',
    '\\--graphql\\',
    '"}}\r\n--graphql\r\ncontent-type: application/json\r\n\r\n{"payload":null}',
    '"extensions":{"eventId":"x"}',
    'żółw 🐢 \u2028 \u0085 \u0001',
  ])('is not broken by what a post says: %j', async (hostile) => {
    const query = 'subscription { postCreated { title body extensions: title } }';
    const stream = await subscribeMultipart(socket, { key, query });
    const title = `x${hostile}`;
    await createPost(app, key, { title, body: hostile });
    await createPost(app, key, { title: 'after it' });
    const { data } = await stream.payload();
    expect(data.postCreated).toEqual({ title, body: hostile, extensions: title });
    expect((await stream.receive()).title).toBe('after it');
    await stream.close();
  });

  it('keeps other extensions and the errors of fields', async () => {
    const { key: other } = await app.account();
    const query = 'subscription { postCreated { title author { email } } }';
    const headers = { 'x-show-cost': '1' };
    const stream = await subscribeMultipart(socket, { key: other, query, headers });
    await createPost(app, key, { title: 'with an error' });
    expect(await stream.payload()).toEqual({
      data: null,
      errors: [
        expect.objectContaining({
          extensions: { code: 'FORBIDDEN' },
          path: ['postCreated', 'author', 'email'],
        }),
      ],
      extensions: {
        cost: expect.objectContaining({ complexity: expect.any(Number) }),
        eventId: expect.any(String),
      },
    });
    await stream.close();
  });

  it('shares its group with streams of Server-Sent Events that get the same', async () => {
    const instance = secondInstance(app);
    const sse = await subscribe(instance, { key });
    const multipart = await subscribeMultipart(instance, { key });
    expect(await readMetric(instance, 'content_graph_distinct_subscriptions')).toBe(1);
    await createPost(app, key, { title: 'shared' });
    expect((await sse.receive()).title).toBe('shared');
    expect((await multipart.receive()).title).toBe('shared');
  });

  it('counts towards the limit of streams together with Server-Sent Events', async () => {
    const { key: own } = await app.account();
    const open = () => readMetric(app, 'content_graph_event_streams_open');
    // Those of the tests before may still be closing.
    await expect.poll(open).toBe(0);
    const streams = [];
    for (let n = 0; n < 10; n += 1) {
      streams.push(await subscribe(socket, { key: own }));
      streams.push(await subscribeMultipart(socket, { key: own }));
    }
    expect(await open()).toBe(20);
    for (const accept of [ACCEPT_MULTIPART, 'text/event-stream']) {
      const rejected = await requestStream(socket, { key: own, accept });
      expect(rejected.status).toBe(429);
      expect(rejected.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(rejected.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(await rejected.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    }
    for (const stream of streams) await stream.close();
    await expect.poll(open).toBe(0);
  });
});
