import { setTimeout as delay } from 'node:timers/promises';

/**
 * @returns true if `done` resolved in time
 * @throws the error of `done` if it rejects in time
 */
export async function withTimeout(limitMs: number, done: Promise<unknown>): Promise<boolean> {
  const limit = new AbortController();
  try {
    const late = delay(Math.max(0, limitMs), false, { signal: limit.signal }).catch(() => false);
    return await Promise.race([done.then(() => true), late]);
  } finally {
    // A pending timer would keep the process alive.
    limit.abort();
  }
}

/** Tests replace the clock. */
export interface Clock {
  /** Wall-clock time in milliseconds, which can jump in either direction. */
  now(): number;
  /** Monotonic time in milliseconds, for durations. */
  elapsedMs(): number;
}

export const systemClock: Clock = { now: () => Date.now(), elapsedMs: () => performance.now() };

/** Timeouts of one length, which elapse in the order in which they were set. */
export interface Deadline {
  /** @returns a function that cancels the timeout */
  set(callback: () => void): () => void;
}

interface Entry {
  readonly dueMs: number;
  /** Cleared so that the entry does not retain the request. */
  callback: (() => void) | undefined;
}

const MAX_EMPTY = 1_024;

/**
 * Shares one timer between all entries, because timers are expensive, and most entries are cancelled early.
 * The queue is an array because a Set with constant turnover rehashes repeatedly. Each old table, once
 * tenured, keeps its successor alive through minor garbage collections.
 */
export function createDeadline(timeMs: number): Deadline {
  let entries: (Entry | undefined)[] = [];
  let first = 0;
  let timer: NodeJS.Timeout | undefined;

  function next(): Entry | undefined {
    while (first < entries.length && entries[first]?.callback === undefined) {
      entries[first] = undefined;
      first += 1;
    }
    if (first > MAX_EMPTY) {
      entries = entries.slice(first);
      first = 0;
    }
    return entries[first];
  }

  function wait(): void {
    const entry = next();
    timer =
      entry === undefined
        ? undefined
        : setTimeout(fire, Math.max(1, entry.dueMs - performance.now())).unref();
  }

  function fire(): void {
    const nowMs = performance.now();
    for (let entry = next(); entry !== undefined && entry.dueMs <= nowMs; entry = next()) {
      const { callback } = entry;
      entry.callback = undefined;
      callback?.();
    }
    wait();
  }

  return {
    set(callback) {
      next();
      const entry: Entry = { dueMs: performance.now() + timeMs, callback };
      entries.push(entry);
      if (timer === undefined) wait();
      return () => {
        entry.callback = undefined;
      };
    },
  };
}

/** Rejects with `late()` if the timeout elapses first. The work itself continues. */
export function within<T>(deadline: Deadline, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = deadline.set(() => reject(late()));
    work.finally(cancel).then(resolve, reject);
  });
}
