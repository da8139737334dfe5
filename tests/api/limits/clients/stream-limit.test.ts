import { beforeEach, describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { readMetric } from '../../../support/metrics.ts';
import { useSocket } from '../../../support/socket.ts';
import { requestStream } from '../../../support/streams/subscriber.ts';

const app = useApp();
const socket = useSocket(app);
let account: Account;
beforeEach(async () => {
  account = await app.account();
});

const open = (query?: string) =>
  requestStream(app, { key: account.key, ...(query === undefined ? {} : { query }) });
const times = (count: number) => Array.from({ length: count });
const total = () => readMetric(app, 'content_graph_event_streams_open');

/** Opens as many as are allowed. */
async function fill(): Promise<Response[]> {
  const responses = [];
  for (const _ of times(10)) responses.push(await open());
  for (const { status } of responses) expect(status).toBe(200);
  return responses;
}

async function leave(responses: readonly Response[]): Promise<void> {
  for (const { body } of responses) await body?.cancel();
}

describe('the streams of a client', () => {
  it('are ten at most: the eleventh is rejected before it opens, and another client is not', async () => {
    const streams = await fill();
    const eleventh = await open();
    expect(eleventh.status).toBe(429);
    expect(Number(eleventh.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(eleventh.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await eleventh.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    const { key } = await app.account();
    const other = await requestStream(app, { key });
    expect(other.status).toBe(200);
    await leave([...streams, other]);
  });

  it('are free again once the client leaves', async () => {
    const before = await total();
    const streams = await fill();
    expect(await total()).toBe(before + 10);
    await leave(streams.slice(0, 1));
    const again = await open();
    expect(again.status).toBe(200);
    expect((await open()).status).toBe(429);
    await leave([...streams, again]);
    await expect.poll(total).toBe(before);
  });

  it('are free again when the socket is closed', async () => {
    const leaving = new AbortController();
    const overSocket = () =>
      requestStream({ fetch: socket.fetch }, { key: account.key, signal: leaving.signal });
    // Kept, since fetch leaves a stream that nobody holds on to.
    const streams = [];
    for (const _ of times(10)) streams.push(await overSocket());
    expect(streams.map(({ status }) => status)).toEqual(times(10).map(() => 200));
    expect((await overSocket()).status).toBe(429);
    leaving.abort();
    await expect.poll(async () => (await open()).status).toBe(200);
  });

  it('are not counted where none opens', async () => {
    const rejected = [
      'subscription { postCreated { nowhere } }',
      'subscription { postCreated { author { posts { author { posts { author { posts { author { posts { id } } } } } } } } } }',
      'subscription { a: postCreated { id } b: postCreated { id } }',
    ];
    for (const _ of times(5)) for (const query of rejected) await (await open(query)).text();
    const forbidden = await app.account({ scopes: ['users:read'] });
    for (const _ of times(11)) expect((await requestStream(app, { key: forbidden.key })).status).toBe(403);
    await leave(await fill());
  });

  it('are not counted where the client has gone before it opens', async () => {
    const before = await total();
    for (const _ of times(12)) {
      const gone = new AbortController();
      const request = requestStream({ fetch: socket.fetch }, { key: account.key, signal: gone.signal });
      gone.abort();
      await request.catch(() => undefined);
    }
    await expect.poll(total).toBe(before);
    await leave(await fill());
  });
});

describe('streams that the server ends', () => {
  const ending = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '2' } });

  it('are free again after one result that says why', async () => {
    const { key } = await ending.account();
    for (const _ of times(5)) {
      const response = await requestStream(ending, { key, header: 'not an id' });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('event: complete');
    }
    await expect.poll(() => readMetric(ending, 'content_graph_event_streams_open')).toBe(0);
  });

  it('are free again when the service sends its streams elsewhere', async () => {
    const { key } = await ending.account();
    const responses = [await requestStream(ending, { key }), await requestStream(ending, { key })];
    ending.app.endStreams();
    for (const response of responses) await response.text();
    await expect.poll(() => readMetric(ending, 'content_graph_event_streams_open')).toBe(0);
  });
});
