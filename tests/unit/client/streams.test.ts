import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClientWithClock } from '../../../packages/client/src/client.ts';
import {
  type ClientOptions,
  ContentGraphError,
  createResumingFetch,
  type StreamOptions,
  type StreamState,
  type Subscription,
} from '../../../packages/client/src/index.ts';
import {
  disconnect,
  failure,
  json,
  page,
  type ServiceStub,
  type StubReply,
  silence,
  startStub,
  stream,
} from '../../support/client/service-stub.ts';
import { createVirtualClock } from '../../support/client/virtual-clock.ts';
import { until } from '../../support/processes/process.ts';

const DOCUMENT = 'subscription { tick }';
const SECOND_MS = 1_000;

interface Tick {
  readonly tick: number;
}

const opening = (id: string) => `retry: 1000\nid: ${id}`;
const event = (id: string, tick: number) =>
  `id: ${id}\nevent: next\ndata: ${JSON.stringify({ data: { tick } })}`;
const error = (code: string, id?: string) =>
  `${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${JSON.stringify({ errors: [{ message: code, extensions: { code } }] })}`;
const COMPLETE = 'event: complete\ndata:';

function subscribe(
  stub: ServiceStub,
  options: StreamOptions = {},
  more: Partial<ClientOptions> = {},
  clock = createVirtualClock(),
) {
  const client = createClientWithClock({ url: stub.url, ...more }, clock);
  onTestFinished(() => client.close());
  const states: StreamState[] = [];
  const subscription = client.subscribe<Tick, object>(
    DOCUMENT,
    {},
    {
      onState: (state) => states.push(state),
      ...options,
    },
  );
  return { client, clock, states, subscription };
}

async function take(subscription: Subscription<Tick>, count: number): Promise<(number | string)[]> {
  const taken: (number | string)[] = [];
  while (taken.length < count) {
    const { value } = await subscription.next();
    if (value === undefined) break;
    taken.push(value.type === 'data' ? value.data.tick : `missed ${value.id}`);
  }
  return taken;
}

const positionsOf = ({ requests }: ServiceStub) => requests.map(({ headers }) => headers['last-event-id']);
const namesOf = (states: readonly StreamState[]) =>
  states.map((state) =>
    state.status === 'live' ? state.since : state.status === 'reconnecting' ? state.reason : state.status,
  );

const GOOD = stream([opening('p0'), event('p1', 1), event('p2', 2)]);

/** What may go wrong with the first connection, and the reason that is told. */
const BAD_BEGINNINGS: readonly (readonly [string, StubReply, string])[] = [
  ['503 with Retry-After', failure('SERVICE_UNAVAILABLE', 503, { 'retry-after': '3' }), 'unavailable'],
  ['429', failure('RATE_LIMITED', 429), 'rateLimited'],
  ['a closed connection', disconnect, 'network'],
  ['a page with 502', page(502), 'unavailable'],
  ['the login page of a network', page(200), 'unavailable'],
  ['a stream that breaks', stream([opening('p0')], false), 'network'],
  ['408', page(408), 'unavailable'],
  ['401', failure('UNAUTHENTICATED', 401), 'unauthenticated'],
];

describe('A stream', () => {
  it.each(BAD_BEGINNINGS)('opens after %s', async (_name, reply, reason) => {
    const stub = await startStub(reply, GOOD);
    const { subscription, states, clock } = subscribe(stub);
    expect(await take(subscription, 2)).toEqual([1, 2]);
    const names = namesOf(states).filter((name) => name !== 'opened' && name !== 'resumed');
    expect(names).toEqual(['connecting', reason]);
    if (reason === 'unavailable' && _name.includes('Retry'))
      expect(clock.pauses[0]).toBeGreaterThanOrEqual(3_000);
  });

  it.each([
    ['before the response', silence, 'A proxy that compresses or buffers'],
    ['after it opened', stream([opening('p0')]), 'No byte came for 26000 ms.'],
  ])('is opened again when the connection is silent %s', async (_name, reply, message) => {
    const stub = await startStub(reply, GOOD);
    const { subscription, states, clock } = subscribe(stub);
    const taken = take(subscription, 1);
    await until('the connection', () => stub.requests.length === 1);
    if (message.startsWith('No')) await until('the opening', () => states.at(-1)?.status === 'live');
    clock.advance(30 * SECOND_MS);
    expect(await taken).toEqual([1]);
    const broken = states.find((state) => state.status === 'reconnecting');
    expect(broken).toMatchObject({ reason: 'network', error: { code: 'NETWORK_ERROR' } });
    expect(broken).toMatchObject({ error: { message: expect.stringContaining(message) } });
  });

  it('is opened again within 2 s after a machine has slept, and continues', async () => {
    const stub = await startStub(
      stream([opening('p0'), event('p1', 1)]),
      stream([opening('p1'), event('p2', 2)]),
    );
    const { subscription, states, clock } = subscribe(stub);
    expect(await take(subscription, 1)).toEqual([1]);
    const rest = take(subscription, 1);
    // The read begins once the event was handled.
    await setImmediate();
    clock.sleepMachine(3_600 * SECOND_MS);
    clock.advance(2 * SECOND_MS);
    expect(await rest).toEqual([2]);
    expect(positionsOf(stub)).toEqual([undefined, 'p1']);
    expect(namesOf(states)).toEqual(['connecting', 'opened', 'network', 'resumed']);
  });

  it('is not silent while its reader is busy', async () => {
    const stub = await startStub(GOOD);
    const { subscription, clock } = subscribe(stub);
    expect(await take(subscription, 1)).toEqual([1]);
    clock.advance(600 * SECOND_MS);
    expect(await take(subscription, 1)).toEqual([2]);
    expect(stub.requests).toHaveLength(1);
  });

  it.each(['EVENT_HISTORY_EXPIRED', 'BAD_USER_INPUT'])(
    'tells that events are lost after %s',
    async (code) => {
      const stub = await startStub(
        stream([opening('p7'), error(code, 'p7'), COMPLETE]),
        stream([opening('p7'), event('p8', 8)]),
      );
      const { subscription, states, clock } = subscribe(stub, { after: 'unknown' });
      expect(await take(subscription, 2)).toEqual(['missed p7', 8]);
      expect(positionsOf(stub)).toEqual(['unknown', 'p7']);
      expect(namesOf(states)).toEqual(['connecting', 'connecting', 'missedEvents']);
      expect(clock.pauses).toEqual([]);
    },
  );

  it('sends the query string of a document whose id the service does not have', async () => {
    const stub = await startStub(failure('DOCUMENT_NOT_FOUND', 404), stream([opening('p0')], false), GOOD);
    const { client } = subscribe(stub);
    const document = Object.assign(new String(DOCUMENT), { __meta__: { hash: 'abc' } });
    expect(await take(client.subscribe<Tick, object>(document, {}), 2)).toEqual([1, 2]);
    expect(stub.requests.map(({ body }) => Object.keys(JSON.parse(body))[0])).toEqual([
      'documentId',
      'query',
      'query',
    ]);
  });

  it('does not ask for lost events in a loop', async () => {
    const lost = stream([opening('p7'), error('EVENT_HISTORY_EXPIRED', 'p7'), COMPLETE]);
    const stub = await startStub(lost, lost, lost, GOOD);
    const { subscription, clock } = subscribe(stub, { after: 'old' });
    await take(subscription, 3);
    expect(clock.pauses.length).toBeGreaterThan(0);
  });

  it('has the operation of its name, and the extensions of each event', async () => {
    const data = JSON.stringify({ data: { tick: 1 }, extensions: { cost: { complexity: 3 } } });
    const stub = await startStub(stream([opening('p0'), `id: p1\nevent: next\ndata: ${data}`]));
    const { subscription } = subscribe(stub, { operationName: 'Tick' });
    expect((await subscription.next()).value).toMatchObject({ extensions: { cost: { complexity: 3 } } });
    expect(JSON.parse(stub.requests[0]?.body ?? '')).toMatchObject({ operationName: 'Tick' });
  });

  it('tells that an event is lost that the service could not read', async () => {
    const unreadable = `id: p1\nevent: next\ndata: {"data":null,"errors":[{"message":"No"}]}`;
    const stub = await startStub(stream([opening('p0'), unreadable, event('p2', 2)]));
    const { subscription } = subscribe(stub);
    expect(await take(subscription, 2)).toEqual(['missed p1', 2]);
    expect(stub.requests).toHaveLength(1);
  });

  it.each([
    ['FORBIDDEN', failure('FORBIDDEN', 403)],
    ['DOCUMENT_NOT_FOUND', failure('DOCUMENT_NOT_FOUND', 404)],
    ['FORBIDDEN', stream([opening('p0'), error('FORBIDDEN'), COMPLETE])],
    ['BAD_USER_INPUT', stream([error('BAD_USER_INPUT'), 'event: complete\nid: end\ndata:'])],
    ['UNEXPECTED_RESPONSE', stream([opening('p0'), COMPLETE])],
  ])('is closed by %s', async (code, reply) => {
    const stub = await startStub(reply);
    const { client, subscription } = subscribe(stub);
    await expect(subscription.next()).rejects.toMatchObject({ code });
    expect(subscription.state).toMatchObject({ status: 'closed', error: { code } });
    expect(client.state.current).toMatchObject({ status: 'closed', error: { code } });
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
    expect(stub.requests).toHaveLength(1);
  });

  it('waits for other credentials when they are revoked, and longer than for the network', async () => {
    const stub = await startStub(
      stream([opening('p0'), event('p1', 1), error('UNAUTHENTICATED'), COMPLETE]),
      stream([opening('p1'), event('p2', 2)]),
    );
    const { subscription, states, clock } = subscribe(stub);
    expect(await take(subscription, 2)).toEqual([1, 2]);
    expect(namesOf(states)).toEqual(['connecting', 'opened', 'unauthenticated', 'resumed']);
    expect(clock.pauses.reduce((sum, pause) => sum + pause, 0)).toBeGreaterThanOrEqual(2_500);
  });

  it('closes the connection when the loop is left', async () => {
    let isClosed = false;
    const stub = await startStub((response, request) => {
      response.on('close', () => {
        isClosed = true;
      });
      return GOOD(response, request);
    });
    const { client, subscription, states } = subscribe(stub);
    for await (const _ of subscription) break;
    await until('the end of the connection', () => isClosed);
    expect(states.at(-1)).toEqual({ status: 'closed' });
    expect(client.state.current).toEqual({ status: 'idle' });
  });

  it('rejects with the reason of its signal, and ends by close', async () => {
    const stub = await startStub(stream([opening('p0')]));
    const controller = new AbortController();
    const { client, subscription } = subscribe(stub, { signal: controller.signal });
    const pending = subscription.next();
    const other = client.subscribe<Tick, object>(DOCUMENT, {});
    const closed = other.next();
    await until('both connections', () => stub.requests.length === 2);
    controller.abort(new Error('left'));
    await expect(pending).rejects.toThrow('left');
    expect(subscription.state).toEqual({ status: 'closed' });
    other.close();
    expect(await closed).toEqual({ done: true, value: undefined });
    await expect(client.subscribe(DOCUMENT, {}, { signal: controller.signal }).next()).rejects.toThrow(
      'left',
    );
  });

  it('says that a fetch without streams cannot be used', async () => {
    const stub = await startStub(json({}));
    const { subscription } = subscribe(
      stub,
      {},
      {
        fetch: async () => {
          const response = new Response('', { headers: { 'content-type': 'text/event-stream' } });
          Object.defineProperty(response, 'body', { value: null });
          return response;
        },
      },
    );
    const failed = await subscription.next().catch((reason: unknown) => reason);
    expect(failed).toBeInstanceOf(ContentGraphError);
    expect(failed).toMatchObject({ code: 'STREAMS_UNSUPPORTED' });
  });
});

describe('A resuming fetch', () => {
  const headers = { accept: 'text/event-stream' };

  it('passes an event stream on across breaks', async () => {
    const stub = await startStub(
      page(502),
      stream([opening('p0'), event('p1', 1)], false),
      stream([opening('p1'), event('p2', 2), COMPLETE]),
    );
    const { client } = subscribe(stub);
    const response = await createResumingFetch(client)(stub.url, { method: 'POST', headers, body: '{}' });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const text = await response.text();
    expect(text).toContain(event('p1', 1));
    expect(text.endsWith(`${event('p2', 2)}\n\n${COMPLETE} \n\n`)).toBe(true);
    expect(positionsOf(stub)).toEqual([undefined, undefined, 'p1']);
    expect(client.state.current).toEqual({ status: 'idle' });
  });

  it('returns the response of a service that rejects the stream', async () => {
    const stub = await startStub(failure('FORBIDDEN', 403));
    const { client } = subscribe(stub);
    const response = await createResumingFetch(client)(stub.url, { method: 'POST', headers, body: '{}' });
    expect([response.status, await response.json()]).toEqual([
      403,
      { errors: [{ message: 'FORBIDDEN', extensions: { code: 'FORBIDDEN' } }] },
    ]);
  });

  it('repeats a request with a key, and sends others once', async () => {
    const stub = await startStub(disconnect, page(503), json({ data: {} }), page(503));
    const { client } = subscribe(stub);
    const keyed = await createResumingFetch(client)(stub.url, {
      method: 'POST',
      headers: { 'idempotency-key': 'one' },
      body: '{}',
    });
    expect([keyed.status, stub.requests.length]).toEqual([200, 3]);
    expect((await createResumingFetch(client)(stub.url)).status).toBe(503);
    expect(stub.requests).toHaveLength(4);
  });
});
