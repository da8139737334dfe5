import { resolve } from 'node:path';
import { endChild, nextMessage, spawnChild } from '../harness/child-process.ts';
import type { Connected, ConnectWish, Lags, Received, Told, Wish } from './messages.ts';

/** Whom to connect, and how. */
export interface Gathering {
  readonly port: number;
  readonly subscribers: number;
  /** Whole requests; the subscribers send them in turn. */
  readonly requests: readonly Buffer[];
  readonly atOnce?: number;
  readonly resume?: boolean;
  readonly silent?: boolean;
}

/** Many subscribers, in a process of their own. */
export interface Crowd {
  /** Resolves once all have their first block. */
  connect(gathering: Gathering): Promise<Connected>;
  /** From now on each of the subscribers is to receive so many events, each once. */
  expect(subscribers: number, events: number): Promise<void>;
  /** Resolves once they have. Rejects with what is missing when the time is over. */
  received(limitMs?: number): Promise<Received>;
  /** How late they came, from when each event was known to be committed. */
  lags(knownMs: readonly number[]): Promise<Lags>;
  disconnect(): Promise<void>;
}

const AT_ONCE = 200;
const CONNECT_LIMIT_MS = 120_000;
const RECEIVE_LIMIT_MS = 120_000;
/** For the process itself to answer, after the time that it was given. */
const ANSWER_LIMIT_MS = 30_000;

/** Starts the process; it ends when `cleanup` is disposed of. */
export async function startCrowd(cleanup: AsyncDisposableStack): Promise<Crowd> {
  const child = spawnChild({ file: resolve(import.meta.dirname, 'subscribers.ts') });
  const tell = (wish: Wish) => void child.send(wish);
  cleanup.defer(() => endChild(child, () => tell({ kind: 'stop' })));
  const next = <Kind extends Told['kind']>(kind: Kind, limitMs = 0) =>
    nextMessage<Told, Kind | 'failed'>(child, [kind, 'failed'], limitMs + ANSWER_LIMIT_MS);

  async function ask<Kind extends Exclude<Told['kind'], 'failed'>>(
    wish: Wish,
    kind: Kind,
    limitMs?: number,
  ): Promise<Extract<Told, { kind: Kind }>> {
    const response = next(kind, limitMs);
    tell(wish);
    const told: Told = await response;
    if (told.kind === 'failed') throw new Error(told.reason);
    return told as Extract<Told, { kind: Kind }>;
  }

  await next('ready');
  return {
    connect({ requests, atOnce = AT_ONCE, resume = false, silent = false, ...rest }) {
      const wish: ConnectWish = {
        kind: 'connect',
        ...rest,
        requests: requests.map(String),
        atOnce,
        resume,
        silent,
        limitMs: CONNECT_LIMIT_MS,
      };
      return ask(wish, 'connected', CONNECT_LIMIT_MS);
    },
    async expect(subscribers, events) {
      await ask({ kind: 'expect', subscribers, events }, 'expecting');
    },
    received: (limitMs = RECEIVE_LIMIT_MS) => ask({ kind: 'wait', limitMs }, 'received', limitMs),
    lags: (knownMs) => ask({ kind: 'lags', knownMs }, 'lags'),
    async disconnect() {
      await ask({ kind: 'disconnect' }, 'disconnected');
    },
  };
}
