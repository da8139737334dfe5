import { describe, expect, it, onTestFinished } from 'vitest';
import { createClientWithClock } from '../../../packages/client/src/client.ts';
import { type ClientOptions, ContentGraphError } from '../../../packages/client/src/index.ts';
import {
  disconnect,
  failure,
  json,
  page,
  type ServiceStub,
  silence,
  startStub,
  stream,
} from '../../support/client/service-stub.ts';
import { createVirtualClock } from '../../support/client/virtual-clock.ts';
import { until } from '../../support/processes/process.ts';

const CREATE = 'mutation ($title: String!) { createPost(title: $title) { id } }';
const CREATED = { data: { createPost: { id: '1' } } };
const SECOND_MS = 1_000;

/** Storage of one tab. */
function createStorage() {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void items.set(name, value),
    removeItem: (name: string) => void items.delete(name),
  };
}

function openClient(stub: ServiceStub, options: Partial<ClientOptions> = {}, clock = createVirtualClock()) {
  const client = createClientWithClock({ url: stub.url, identity: 'ada', ...options }, clock);
  onTestFinished(() => client.close());
  return { client, clock };
}

const catchError = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => (error instanceof ContentGraphError ? error : undefined),
  );

const keysOf = ({ requests }: ServiceStub) => requests.map(({ headers }) => headers['idempotency-key']);

describe('Retries', () => {
  it('wait as long as Retry-After asks, in seconds or as a date', async () => {
    const clock = createVirtualClock();
    const date = new Date(clock.nowMs() + 60 * SECOND_MS).toUTCString();
    const stub = await startStub(
      failure('RATE_LIMITED', 429, { 'retry-after': '7' }),
      failure('SERVICE_UNAVAILABLE', 503, { 'retry-after': date }),
      json(CREATED),
    );
    const { client } = openClient(stub, {}, clock);
    const told: (readonly [string, number | undefined])[] = [];
    await client.mutate(
      CREATE,
      { title: 'A' },
      { onRetry: ({ code, httpStatus }) => told.push([code, httpStatus]) },
    );
    expect(clock.pauses[0]).toBeGreaterThanOrEqual(7 * SECOND_MS);
    expect(clock.pauses[0] ?? 0 + (clock.pauses[1] ?? 0)).toBeGreaterThanOrEqual(7 * SECOND_MS);
    expect((clock.pauses[0] ?? 0) + (clock.pauses[1] ?? 0)).toBeGreaterThanOrEqual(60 * SECOND_MS);
    expect(told).toEqual([
      ['RATE_LIMITED', 429],
      ['SERVICE_UNAVAILABLE', 503],
    ]);
  });

  it('end with the time budget, not after a number of attempts', async () => {
    const stub = await startStub(failure('SERVICE_UNAVAILABLE', 503));
    const { client, clock } = openClient(stub);
    const startMs = clock.nowMs();
    expect(await catchError(client.mutate(CREATE, { title: 'A' }))).toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      httpStatus: 503,
      isRetryable: true,
    });
    const durationMs = clock.nowMs() - startMs;
    expect(durationMs).toBeGreaterThan(110 * SECOND_MS);
    expect(durationMs).toBeLessThanOrEqual(120 * SECOND_MS);
    expect(new Set(keysOf(stub)).size).toBe(1);
  });

  it('do not wait for a time after the budget', async () => {
    const stub = await startStub(failure('RATE_LIMITED', 429, { 'retry-after': '300' }));
    const { client, clock } = openClient(stub);
    expect(await catchError(client.query('{ x }', {}))).toMatchObject({ retryAfterMs: 300 * SECOND_MS });
    expect(clock.pauses).toEqual([]);
  });

  it('follow at once when a stream shows that the service responds', async () => {
    const days = 10 * 86_400 * SECOND_MS;
    const stub = await startStub(failure('SERVICE_UNAVAILABLE', 503));
    const { client } = openClient(stub, {
      retry: { minPauseMs: days, maxPauseMs: days, queryBudgetMs: 2 * days },
    });
    let isPaused = false;
    const result = client.query(
      '{ a }',
      {},
      {
        onRetry() {
          isPaused = true;
        },
      },
    );
    await until('the pause', () => isPaused);
    stub.reply(stream(['id: 1']), json({ data: { a: 1 } }));
    const subscription = client.subscribe('subscription { tick }', {});
    const pending = subscription.next();
    expect((await result).data).toEqual({ a: 1 });
    subscription.close();
    await pending;
  });

  it('follow an attempt without a response within 15 s', async () => {
    const stub = await startStub(silence, json(CREATED));
    const { client, clock } = openClient(stub);
    const result = client.mutate(CREATE, { title: 'A' });
    await until('the first attempt', () => stub.requests.length === 1);
    clock.advance(15 * SECOND_MS);
    expect((await result).data).toEqual(CREATED.data);
    expect(new Set(keysOf(stub)).size).toBe(1);
    expect(stub.requests).toHaveLength(2);
  });

  it('continue after a machine has slept, and past the time budget leave the key to the next attempt', async () => {
    const stub = await startStub(silence, json(CREATED), silence, json(CREATED));
    const { client, clock } = openClient(stub);
    const intent = client.intent('write');
    const send = async (sleepMs: number) => {
      const before = stub.requests.length;
      const result = client.mutate(CREATE, { title: 'A' }, { intent });
      await until('the attempt', () => stub.requests.length === before + 1);
      clock.sleepMachine(sleepMs);
      clock.advance(15 * SECOND_MS);
      return result;
    };
    expect((await send(60 * SECOND_MS)).data).toEqual(CREATED.data);
    expect(await catchError(send(3_600 * SECOND_MS))).toMatchObject({
      code: 'NETWORK_ERROR',
      isOutcomeUnknown: true,
    });
    expect(intent.isOpen).toBe(true);
    await client.mutate(CREATE, { title: 'A' }, { intent });
    const [first, second, third, fourth] = keysOf(stub);
    expect([second, fourth]).toEqual([first, third]);
    expect(third).not.toBe(first);
  });

  it('end with the reason of the signal, and with the client', async () => {
    const stub = await startStub(silence);
    const { client } = openClient(stub);
    const controller = new AbortController();
    const aborted = client.query('{ x }', {}, { signal: controller.signal });
    const closed = client.query('{ x }', {});
    await until('both requests', () => stub.requests.length === 2);
    controller.abort(new Error('left the page'));
    await expect(aborted).rejects.toThrow('left the page');
    client.close();
    await expect(closed).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('After a lost response, an intent keeps its key', () => {
  it('through a reload, and sends the stored document of the older page', async () => {
    const stub = await startStub(disconnect, page(403), json(CREATED));
    const storage = createStorage();
    const { client } = openClient(stub, { storage });
    await catchError(client.mutate(CREATE, { title: 'A', tags: ['x'] }, { intent: client.intent('write') }));
    client.close();
    const { client: reloaded } = openClient(stub, { storage });
    const intent = reloaded.intent('write');
    expect(intent.isOpen).toBe(true);
    const newer = CREATE.replace('{ id }', '{ id version }');
    await reloaded.mutate(newer, { tags: ['x'], title: 'A' }, { intent });
    expect(new Set(keysOf(stub)).size).toBe(1);
    expect(new Set(stub.requests.map(({ body }) => body)).size).toBe(1);
    expect(storage.items.size).toBe(0);
  });

  it('and writes the key before the first byte is sent', async () => {
    const storage = createStorage();
    const stored: number[] = [];
    const stub = await startStub((response, request) => {
      stored.push(storage.items.size);
      return json(CREATED)(response, request);
    });
    const { client } = openClient(stub, { storage });
    await client.mutate(CREATE, { title: 'A' }, { intent: client.intent('write') });
    expect(stored).toEqual([1]);
  });

  it('but not for other variables, another account or another name', async () => {
    const stub = await startStub(page(403));
    const storage = createStorage();
    const { client } = openClient(stub, { storage });
    const { client: other } = openClient(stub, { storage, identity: 'bob' });
    await catchError(client.mutate(CREATE, { title: 'A' }, { intent: client.intent('write') }));
    await catchError(client.mutate(CREATE, { title: 'B' }, { intent: client.intent('write') }));
    await catchError(client.mutate(CREATE, { title: 'B' }, { intent: client.intent('comment') }));
    await catchError(other.mutate(CREATE, { title: 'B' }, { intent: other.intent('write') }));
    expect(new Set(keysOf(stub)).size).toBe(4);
  });
});

describe('An intent', () => {
  it('takes a new key once the service says that nothing was changed, or that it was done', async () => {
    const rejected = json({
      data: null,
      errors: [{ message: 'No', extensions: { code: 'BAD_USER_INPUT' } }],
    });
    const stub = await startStub(rejected, json(CREATED), json(CREATED));
    const { client } = openClient(stub);
    const intent = client.intent('write');
    const error = await catchError(client.mutate(CREATE, { title: 'A' }, { intent }));
    expect(error).toMatchObject({ wasExecuted: true, isOutcomeUnknown: false });
    await client.mutate(CREATE, { title: 'A' }, { intent });
    await client.mutate(CREATE, { title: 'A' }, { intent });
    expect(new Set(keysOf(stub)).size).toBe(3);
  });

  it('is not stored where the service said that nothing was changed', async () => {
    const storage = createStorage();
    const stub = await startStub(failure('FORBIDDEN', 403));
    const { client } = openClient(stub, { storage });
    const intent = client.intent('write');
    await catchError(client.mutate(CREATE, { title: 'A' }, { intent }));
    expect([intent.isOpen, storage.items.size]).toEqual([false, 0]);
  });

  it('sends two clicks under one key', async () => {
    const stub = await startStub(json(CREATED));
    const { client } = openClient(stub);
    const intent = client.intent('write');
    const click = () => client.mutate(CREATE, { title: 'A' }, { intent });
    await Promise.all([click(), click()]);
    expect(stub.requests).toHaveLength(2);
    expect(new Set(keysOf(stub)).size).toBe(1);
  });

  it('does not repeat an attempt that the service may have forgotten', async () => {
    const stub = await startStub(page(403));
    const { client, clock } = openClient(stub);
    const intent = client.intent('write');
    await catchError(client.mutate(CREATE, { title: 'A' }, { intent }));
    clock.advance(23 * 3_600 * SECOND_MS + 1);
    expect(await catchError(client.mutate(CREATE, { title: 'A' }, { intent }))).toMatchObject({
      code: 'INTENT_EXPIRED',
      isOutcomeUnknown: true,
    });
    expect(stub.requests).toHaveLength(1);
    intent.discard();
    await catchError(client.mutate(CREATE, { title: 'A' }, { intent }));
    expect(stub.requests).toHaveLength(2);
  });

  it('stores no variables with keep: "hash", and still finds its key after a reload', async () => {
    const stub = await startStub(page(403));
    const storage = createStorage();
    for (const title of ['secret', 'secret', 'other']) {
      const { client } = openClient(stub, { storage });
      const intent = client.intent('password', { keep: 'hash' });
      await catchError(client.mutate(CREATE, { title }, { intent }));
      expect([...storage.items.values()].join()).not.toContain(title);
    }
    const [first, second, third] = keysOf(stub);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('works where storage is full or denied', async () => {
    const stub = await startStub(page(403));
    const deny = () => {
      throw new DOMException('denied', 'SecurityError');
    };
    const { client } = openClient(stub, { storage: { getItem: deny, setItem: deny, removeItem: deny } });
    const intent = client.intent('write');
    for (const _ of [1, 2]) await catchError(client.mutate(CREATE, { title: 'A' }, { intent }));
    expect(new Set(keysOf(stub)).size).toBe(1);
    expect(intent.isOpen).toBe(true);
  });

  it('ignores what another program stored under its name', async () => {
    const stub = await startStub(json(CREATED));
    for (const text of ['{', '[]', '"x"', '{"key":1}', 'null']) {
      const storage = createStorage();
      storage.setItem('content-graph:ada:write', text);
      const { client } = openClient(stub, { storage });
      expect(client.intent('write').isOpen).toBe(false);
      await client.mutate(CREATE, { title: 'A' }, { intent: client.intent('write') });
    }
  });
});

describe('A key', () => {
  it('needs no crypto.randomUUID, which pages over plain HTTP do not have', async () => {
    const stub = await startStub(json(CREATED));
    const { randomUUID } = crypto;
    Reflect.set(crypto, 'randomUUID', undefined);
    onTestFinished(() => void Reflect.set(crypto, 'randomUUID', randomUUID));
    const { client } = openClient(stub);
    await client.mutate(CREATE, { title: 'A' });
    expect(keysOf(stub)).toEqual([expect.stringMatching(/^"[0-9a-f]{32}"$/)]);
  });
});

it('The name of an operation selects it in a document with several', async () => {
  const stub = await startStub(json({ data: {} }));
  const { client } = openClient(stub);
  const document = 'query A { a } query B { a } mutation C { c }';
  await client.query(document, {}, { operationName: 'B' });
  await client.mutate(document, {}, { operationName: 'C' });
  expect(stub.requests.map(({ body }) => JSON.parse(body).operationName)).toEqual(['B', 'C']);
});

describe('A persisted document', () => {
  const persisted = Object.assign(new String('{ posts { id } }'), { __meta__: { hash: 'abc' } });
  const DATA = { data: { posts: [] } };

  it('is sent by its id, and an unchanged result is not sent again', async () => {
    const stub = await startStub(
      json(DATA, 200, { etag: '"1"' }),
      (response) => void response.writeHead(304, { etag: '"1"' }).end(),
    );
    const { client } = openClient(stub);
    const results = [await client.query(persisted, {}), await client.query(persisted, {})];
    expect(results.map(({ data }) => data)).toEqual([DATA.data, DATA.data]);
    expect(stub.requests.map(({ method, headers }) => [method, headers['if-none-match']])).toEqual([
      ['GET', undefined],
      ['GET', '"1"'],
    ]);
    expect(stub.requests[0]?.path).toContain('documentId=abc');
  });

  it('is sent as a query string once the service does not have the id', async () => {
    const stub = await startStub(failure('DOCUMENT_NOT_FOUND', 404), json(DATA));
    const { client } = openClient(stub);
    await client.query(persisted, {});
    await client.query(persisted, {});
    expect(stub.requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'POST']);
    const mutation = Object.assign(new String(CREATE), { __meta__: { hash: 'def' } });
    stub.reply(failure('DOCUMENT_NOT_FOUND', 404), json(CREATED));
    await client.mutate(mutation, { title: 'A' });
    const bodies = stub.requests.slice(3).map(({ body }) => Object.keys(JSON.parse(body)));
    expect(bodies).toEqual([
      ['documentId', 'variables'],
      ['query', 'variables'],
    ]);
    expect(new Set(keysOf(stub).slice(3)).size).toBe(1);
  });

  it('is sent by its id again where the service accepts only ids: it may have been published meanwhile', async () => {
    const stub = await startStub(
      failure('DOCUMENT_NOT_FOUND', 404),
      failure('DOCUMENT_REQUIRED', 400),
      json(DATA),
    );
    const { client } = openClient(stub);
    await expect(client.query(persisted, {})).rejects.toMatchObject({ code: 'DOCUMENT_REQUIRED' });
    expect(await client.query(persisted, {})).toMatchObject(DATA);
    expect(stub.requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET']);
  });
});
