import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { postRequest } from '../harness/connection.ts';
import { quantile } from '../harness/load.ts';
import { peakBytes, resetPeak } from '../harness/process-time.ts';
import type { Ordinary } from './accounts.ts';
import { ORIGIN } from './sending.ts';
import { ask, connectFrom, cookieOf, getOf, type ResponseData } from './wire.ts';

/** Together at most 15 requests a second, of the 20 that a client has. */
const READS_PER_SECOND = 9;
const WRITES_PER_SECOND = 3;
const LOGINS_PER_SECOND = 1;
const PROBES_PER_SECOND = 5;
/**
 * So many may be on their way at once. Where the machine stands still they all come to the bucket in the same moment,
 * and it holds more.
 */
const MOST_ON_THEIR_WAY = { key: 60, login: 3, probe: 20 };
/** Whoever connects from there shares the limits of no attacker's address. */
const ADDRESS = '127.0.0.2';
/** No event is waited for any longer: its lag is that at least. */
const EVENTS_LIMIT_MS = 10_000;
const CARRIED = 200;

const KINDS = ['read', 'write', 'login', 'event', 'live', 'ready'] as const;
export type Kind = (typeof KINDS)[number];

/** What an ordinary client of another account noticed. Times are 99th percentiles in ms. */
export interface Noticed extends Readonly<Record<Kind, number>> {
  readonly samples: number;
  /** Responses other than success, by what was asked and status; 0: there was none. */
  readonly rejected: Readonly<Record<string, number>>;
  readonly peakBytes: number;
}

interface Notes {
  readonly times: Record<Kind, number[]>;
  readonly rejected: Record<string, number>;
  reject(what: string): void;
}

function notes(): Notes {
  const rejected: Record<string, number> = {};
  return {
    times: { read: [], write: [], login: [], event: [], live: [], ready: [] },
    rejected,
    reject(what) {
      rejected[what] = (rejected[what] ?? 0) + 1;
    },
  };
}

/** A stream of all posts: when the client's own ones come back. */
function watchEvents(port: number, { key }: Ordinary, { times, reject }: Notes) {
  const sentAt = new Map<string, number>();
  const fields = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
  const query = 'subscription { postCreated { title } }';
  const socket = connectFrom({ port, from: ADDRESS }, () =>
    socket.write(postRequest('/graphql', { query }, fields)),
  );
  let ended = false;
  let carried = '';
  const begun = Promise.withResolvers<void>();
  socket.setEncoding('utf8');
  socket.once('data', (text: string) => {
    const status = text.slice(9, 12);
    if (status !== '200') reject(`event ${status}`);
    begun.resolve();
  });
  socket.on('data', (text: string) => {
    // A title may come in two parts.
    const known = carried + text;
    let end = 0;
    for (const match of known.matchAll(/"title":"(ordinary \d+)"/g)) {
      const [whole, title = ''] = match;
      end = match.index + whole.length;
      const startMs = sentAt.get(title);
      if (startMs !== undefined) times.event.push(performance.now() - startMs);
      sentAt.delete(title);
    }
    carried = known.slice(Math.max(end, known.length - CARRIED));
  });
  socket
    .on('error', () => undefined)
    .on('close', () => {
      if (!ended) reject('event 0');
      ended = true;
      begun.resolve();
    });
  return {
    sentAt,
    /** Settles once it has begun: posts before that are no events of it. */
    begun: begun.promise,
    async end() {
      const untilMs = performance.now() + EVENTS_LIMIT_MS;
      while (sentAt.size > 0 && !ended && performance.now() < untilMs) await delay(20);
      if (!ended) for (const startMs of sentAt.values()) times.event.push(performance.now() - startMs);
      ended = true;
      socket.destroy();
    },
  };
}

/** One after the other: posts, which come back as events, and comments. Every third has an Idempotency-Key. */
function writes({ key, postId }: Ordinary, sentAt: Map<string, number>): () => Buffer {
  let number = 0;
  return () => {
    number += 1;
    const title = `ordinary ${number}`;
    const keyed: Record<string, string> = number % 3 === 0 ? { 'idempotency-key': randomUUID() } : {};
    const fields = { authorization: `Bearer ${key}`, ...keyed };
    if (number % 2 === 0) {
      const query = `mutation { createComment(postId: "${postId}", body: "${title}") { id } }`;
      return postRequest('/graphql', { query }, fields);
    }
    sentAt.set(title, performance.now());
    return postRequest(
      '/graphql',
      { query: `mutation { createPost(title: "${title}", body: "b") { id } }` },
      fields,
    );
  };
}

/** Sends an ordinary client's requests for a while, each on a connection of its own. `begin` is called before the first. */
export async function ordinaryClient(
  { port, pid }: { port: number; pid: number },
  ordinary: Ordinary,
  durationMs: number,
  begin: () => void = () => undefined,
): Promise<Noticed> {
  const all = notes();
  const { times, rejected, reject } = all;
  const way = { port, from: ADDRESS };
  resetPeak(pid);
  const events = watchEvents(port, ordinary, all);
  const send = async (kind: Kind, request: Buffer): Promise<ResponseData | undefined> => {
    const startMs = performance.now();
    const response = await ask(way, request).catch(() => undefined);
    const status = response?.status ?? 0;
    if (status !== 200 && status !== 204) reject(`${kind} ${status}`);
    else if (response?.body.includes('"errors"')) reject(`${kind} ${status} with errors`);
    else times[kind].push(performance.now() - startMs);
    return response;
  };
  const read = { query: '{ posts(limit: 5) { id title author { name } } }' };
  const readByKey = postRequest('/graphql', read, { authorization: `Bearer ${ordinary.key}` });
  const { email, password } = ordinary;
  const logIn = postRequest('/login', { email, password }, {});
  const bySession = async () => {
    const response = await send('login', logIn);
    const cookie = response && cookieOf(response, 'session_id');
    if (cookie === undefined) return;
    const fields = { cookie, origin: ORIGIN };
    await send('read', postRequest('/graphql', read, fields));
    const left = await ask(way, postRequest('/logout', {}, fields)).catch(() => undefined);
    if (left?.status !== 204) reject(`logout ${left?.status ?? 0}`);
  };
  const onTheirWay = { key: 0, login: 0, probe: 0 };
  const asked: Promise<void>[] = [];
  const every = async (perSecond: number, bucket: keyof typeof onTheirWay, act: () => Promise<unknown>) => {
    const counted = async () => {
      onTheirWay[bucket] += 1;
      await act();
      onTheirWay[bucket] -= 1;
    };
    const endMs = performance.now() + durationMs;
    while (performance.now() < endMs) {
      if (onTheirWay[bucket] < MOST_ON_THEIR_WAY[bucket]) asked.push(counted());
      // What was not sent in time is not made up for.
      await delay(1_000 / perSecond);
    }
  };
  await events.begun;
  begin();
  const write = writes(ordinary, events.sentAt);
  await Promise.all([
    every(READS_PER_SECOND, 'key', () => send('read', readByKey)),
    every(WRITES_PER_SECOND, 'key', () => send('write', write())),
    every(LOGINS_PER_SECOND, 'login', bySession),
    every(PROBES_PER_SECOND, 'probe', () => send('live', getOf('/health/live'))),
    every(PROBES_PER_SECOND, 'probe', () => send('ready', getOf('/health/ready'))),
  ]);
  // However long that takes: a service that never answers ends the whole command.
  await Promise.all(asked);
  await events.end();
  const p99 = (kind: Kind) =>
    quantile(
      times[kind].toSorted((a, b) => a - b),
      0.99,
    );
  return {
    read: p99('read'),
    write: p99('write'),
    login: p99('login'),
    event: p99('event'),
    live: p99('live'),
    ready: p99('ready'),
    samples: Object.values(times).reduce((sum, { length }) => sum + length, 0),
    rejected,
    peakBytes: peakBytes(pid),
  };
}
