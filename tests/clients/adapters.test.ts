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
  driveRelay,
  driveUrql,
} from './adapter-drivers.ts';

const DRIVERS = [
  ['the client', driveClient],
  ['urql', driveUrql],
  ['Apollo Client', driveApollo],
  ['Relay', driveRelay],
] as const;

const TITLES = json({ data: { titles: ['A'] } });
const CREATED = json({ data: { create: true } });
const REJECTED_MS = 30_000;

const opening = (id: string) => `retry: 1000\nid: ${id}`;
const event = (id: string, tick: number) =>
  `id: ${id}\nevent: next\ndata: ${JSON.stringify({ data: { tick } })}`;
const lost = `id: p7\nevent: next\ndata: {"errors":[{"message":"lost","extensions":{"code":"EVENT_HISTORY_EXPIRED"}}]}`;
const COMPLETE = 'event: complete\ndata:';

function openClient(stub: ServiceStub, storage = new Map<string, string>()) {
  const clock = createVirtualClock();
  const openedMs = clock.nowMs();
  let rejectsUntilMs = openedMs;
  const client = createClientWithClock(
    {
      url: stub.url,
      identity: 'ada',
      storage: {
        getItem: (name) => storage.get(name) ?? null,
        setItem: (name, value) => void storage.set(name, value),
        removeItem: (name) => void storage.delete(name),
      },
      fetch: async (input, init) => {
        if (clock.nowMs() < rejectsUntilMs) throw new TypeError('refused');
        return fetch(input, init);
      },
    },
    clock,
  );
  onTestFinished(() => client.close());
  const reject = () => {
    rejectsUntilMs = openedMs + REJECTED_MS;
  };
  return { client, clock, reject };
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

/** What may go wrong at first, and pass. */
const PASSING: readonly (readonly [string, StubReply])[] = [
  ['429 with Retry-After', failure('RATE_LIMITED', 429, { 'retry-after': '7' })],
  ['503', failure('SERVICE_UNAVAILABLE', 503)],
  ['a closed connection', disconnect],
];

describe.each(DRIVERS)('Through %s', (_name, drive) => {
  it.each(PASSING)('queries, mutations and streams get past %s', async (_title, reply) => {
    const stub = await startStub(reply, TITLES);
    const { client } = openClient(stub);
    const driver = drive(client);
    expect(await driver.query()).toEqual(['A']);
    stub.reply(reply, CREATED);
    expect(await driver.mutate('A', client.intent('write'))).toBe(true);
    expect(new Set(keysOf(stub)).size).toBe(1);
    expect(keysOf(stub)).toHaveLength(2);
    stub.reply(
      reply,
      stream([opening('p0'), event('p1', 1)], false),
      stream([opening('p1'), event('p2', 2)]),
    );
    await follow(driver).arrive(1, 2);
  });

  it('a service that rejects connections for 30 s is waited for', async () => {
    const stub = await startStub(CREATED);
    const { client, reject } = openClient(stub);
    reject();
    expect(await drive(client).mutate('A', client.intent('write'))).toBe(true);
    expect(stub.requests).toHaveLength(1);
  });

  it('a lost response, a page with 403 and a reload lead to one key', async () => {
    const stub = await startStub(disconnect, page(403), CREATED);
    const storage = new Map<string, string>();
    const first = openClient(stub, storage).client;
    await expect(drive(first).mutate('A', first.intent('write'))).rejects.toThrow();
    first.close();
    const second = openClient(stub, storage).client;
    expect(second.intent('write').isOpen).toBe(true);
    expect(await drive(second).mutate('A', second.intent('write'))).toBe(true);
    expect(new Set(keysOf(stub)).size).toBe(1);
    expect(keysOf(stub)).toHaveLength(3);
  });

  it('errors of the service arrive as errors of the library', async () => {
    const stub = await startStub(failure('FORBIDDEN', 403));
    const { client } = openClient(stub);
    await expect(drive(client).query()).rejects.toThrow('FORBIDDEN');
    expect(stub.requests).toHaveLength(1);
    stub.reply(
      stream([
        opening('p0'),
        event('p1', 1),
        lost.replace('id: p7\n', '').replace('EVENT_HISTORY_EXPIRED', 'FORBIDDEN'),
        COMPLETE,
      ]),
    );
    await follow(drive(client)).arrive(1, 'FORBIDDEN');
  });

  it('a stream tells that events are lost', async () => {
    const stub = await startStub(
      stream([opening('p7'), lost, COMPLETE]),
      stream([opening('p7'), event('p8', 8)]),
    );
    const { client } = openClient(stub);
    // Relay ends a subscription with its first error.
    if (_name === 'Relay') await follow(drive(client)).arrive('EVENT_HISTORY_EXPIRED');
    else await follow(drive(client), 'old').arrive('EVENT_HISTORY_EXPIRED', 8);
  });

  it('leaving a stream closes its connection', async () => {
    let isClosed = false;
    const stub = await startStub((response, request) => {
      response.on('close', () => {
        isClosed = true;
      });
      return stream([opening('p0'), event('p1', 1)])(response, request);
    });
    const { leave, arrive } = follow(drive(openClient(stub).client));
    await arrive(1);
    leave();
    await until('the end of the connection', () => isClosed);
  });
});
