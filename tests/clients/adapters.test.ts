import { describe, expect, it, onTestFinished } from 'vitest';
import { createClientWithClock } from '../../packages/client/src/client.ts';
import {
  disconnect,
  failure,
  json,
  page,
  type ServiceStub,
  type StubReply,
  startStub,
  stream,
} from '../support/client/service-stub.ts';
import { createVirtualClock } from '../support/client/virtual-clock.ts';
import { until } from '../support/processes/process.ts';
import {
  type Arrival,
  type Driver,
  driveApollo,
  driveClient,
  driveEventSource,
  driveRelay,
  driveUrql,
} from './adapter-drivers.ts';
import { driveReact, driveTanStack } from './page-drivers.ts';

const DRIVERS = [
  ['the client', driveClient],
  ['urql', driveUrql],
  ['Apollo Client', driveApollo],
  ['Relay', driveRelay],
  ['React', driveReact],
  ['TanStack Query', driveTanStack],
  ['EventSource', driveEventSource],
] as const;
/** These have lists in place of single events: after lost events, a list is read again. */
const LISTS: ReadonlySet<string> = new Set(['React', 'TanStack Query']);

const TITLES = json({ data: { titles: ['A'] } });
const CREATED = json({ data: { create: true } });

const opening = (id: string) => `retry: 1000\nid: ${id}`;
const event = (id: string, tick: number) =>
  `id: ${id}\nevent: next\ndata: ${JSON.stringify({ data: { tick } })}`;
const lost = `id: p7\nevent: next\ndata: {"errors":[{"message":"lost","extensions":{"code":"EVENT_HISTORY_EXPIRED"}}]}`;
const COMPLETE = 'event: complete\ndata:';

function openClient(stub: ServiceStub, storage = new Map<string, string>()) {
  const clock = createVirtualClock();
  const client = createClientWithClock(
    {
      url: stub.url,
      identity: 'ada',
      storage: {
        getItem: (name) => storage.get(name) ?? null,
        setItem: (name, value) => void storage.set(name, value),
        removeItem: (name) => void storage.delete(name),
      },
    },
    clock,
  );
  onTestFinished(() => client.close());
  return { client, clock };
}

function follow(driver: Driver, after?: string) {
  const arrivals: Arrival[] = [];
  const leave = driver.follow(after, (arrival) => arrivals.push(arrival));
  onTestFinished(leave);
  return {
    leave,
    arrive: (...expected: Arrival[]) =>
      until(`${expected}`, () => arrivals.length >= expected.length).then(() =>
        expect(arrivals).toEqual(expected),
      ),
  };
}

const keysOf = ({ requests }: ServiceStub) =>
  requests.flatMap(({ headers }) => headers['idempotency-key'] ?? []);

/** The replies to a stream that begins with these replies, then breaks once. */
function streamReplies(
  { beforeStream = [], beforeConnection = [] }: Driver,
  ...first: readonly StubReply[]
): readonly StubReply[] {
  const broken = stream([opening('p0'), event('p1', 1)], false);
  const rest = stream([opening('p1'), event('p2', 2)]);
  return [...beforeStream, ...first, ...beforeConnection, broken, ...beforeConnection, rest];
}

const RETRY_AFTER_MS = 7_000;

/** What may go wrong at first, and pass, and the shortest pause that follows. */
const PASSING: readonly (readonly [string, StubReply, number])[] = [
  ['429 with Retry-After', failure('RATE_LIMITED', 429, { 'retry-after': '7' }), RETRY_AFTER_MS],
  ['503', failure('SERVICE_UNAVAILABLE', 503), 0],
  ['a closed connection', disconnect, 0],
];

/** What may come after a lost response. None of them tells the outcome of the mutation. */
const SEQUELS: readonly (readonly [string, StubReply])[] = [
  ['408', page(408)],
  ['the login page of a network', page(200)],
  ['a page with 403', page(403)],
  ['FORBIDDEN', failure('FORBIDDEN', 403)],
];

describe.each(DRIVERS)('Through %s', (name, drive) => {
  it.each(PASSING)('queries, mutations and streams get past %s', async (_title, reply, pauseMs) => {
    const stub = await startStub(reply, TITLES);
    const { client, clock } = openClient(stub);
    const driver = drive(client);
    const expectPause = () => {
      const pausesMs = clock.pauses.splice(0).reduce((sum, pause) => sum + pause, 0);
      expect(pausesMs).toBeGreaterThanOrEqual(pauseMs);
    };
    expect(await driver.query()).toEqual(['A']);
    expectPause();
    stub.reply(reply, CREATED);
    expect(await driver.mutate('A', 'write')).toBe(true);
    expectPause();
    expect(new Set(keysOf(stub)).size).toBe(1);
    expect(keysOf(stub)).toHaveLength(2);
    stub.reply(...streamReplies(driver, reply));
    await follow(driver).arrive(1, 2);
    expectPause();
  });

  it.each(SEQUELS.flatMap(([sequel, reply]) => ['', ' and a reload'].map((end) => ({ sequel, reply, end }))))(
    'a lost response, $sequel$end lead to one key',
    async ({ reply, end }) => {
      const stub = await startStub(disconnect, reply, CREATED);
      const storage = new Map<string, string>();
      let { client } = openClient(stub, storage);
      let driver = drive(client);
      const first = await driver.mutate('A', 'write').catch(() => undefined);
      if (first === undefined) {
        if (end !== '') {
          client.close();
          ({ client } = openClient(stub, storage));
          driver = drive(client);
        }
        expect(client.intent('write').isOpen).toBe(true);
        expect(await driver.mutate('A', 'write')).toBe(true);
      }
      expect(client.intent('write').isOpen).toBe(false);
      expect(new Set(keysOf(stub)).size).toBe(1);
      expect(keysOf(stub)).toHaveLength(3);
    },
  );

  it('errors of the service arrive as errors of the library', async () => {
    const stub = await startStub(failure('FORBIDDEN', 403));
    const { client } = openClient(stub);
    await expect(drive(client).query()).rejects.toThrow('FORBIDDEN');
    expect(stub.requests).toHaveLength(1);
    const { beforeStream = [], beforeConnection = [] } = drive(client);
    const rejection = lost.replace('id: p7\n', '').replace('EVENT_HISTORY_EXPIRED', 'FORBIDDEN');
    stub.reply(
      ...beforeStream,
      ...beforeConnection,
      stream([opening('p0'), event('p1', 1), rejection, COMPLETE]),
    );
    await follow(drive(client)).arrive(1, 'FORBIDDEN');
  });

  it.skipIf(LISTS.has(name))('a stream tells that events are lost', async () => {
    const stub = await startStub();
    const { client } = openClient(stub);
    const { beforeConnection = [] } = drive(client);
    stub.reply(
      ...beforeConnection,
      stream([opening('p7'), lost, COMPLETE]),
      ...beforeConnection,
      stream([opening('p7'), event('p8', 8)]),
    );
    // Relay ends a subscription with its first error.
    if (name === 'Relay') await follow(drive(client)).arrive('EVENT_HISTORY_EXPIRED');
    else await follow(drive(client), 'old').arrive('EVENT_HISTORY_EXPIRED', 8);
  });

  it('leaving a stream closes its connection', async () => {
    let isClosed = false;
    const stub = await startStub();
    const driver = drive(openClient(stub).client);
    const { beforeStream = [], beforeConnection = [] } = driver;
    stub.reply(...beforeStream, ...beforeConnection, (response, request) => {
      response.on('close', () => {
        isClosed = true;
      });
      return stream([opening('p0'), event('p1', 1)])(response, request);
    });
    const { leave, arrive } = follow(driver);
    await arrive(1);
    leave();
    await until('the end of the connection', () => isClosed);
  });
});
