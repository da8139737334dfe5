import { setTimeout as delay } from 'node:timers/promises';

/** Waits for `done`, but no longer than `limitMs`. Whether it came in time; rejects if it rejects within that time. */
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

/** The time as a dependency, so that tests can control it. */
export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch. It can jump in either direction. */
  now(): number;
  /** Monotonic time in milliseconds since a fixed point in this process. Use it for durations. */
  elapsedMs(): number;
}

export const systemClock: Clock = { now: () => Date.now(), elapsedMs: () => performance.now() };

/** Timeouts that all have the same length, so they fall due in the order in which they were set. */
export interface Deadline {
  /** Calls `callback` when the timeout elapses. Returns a function that cancels it. */
  set(callback: () => void): () => void;
}

interface Entry {
  readonly dueMs: number;
  /** Cleared once fired or cancelled, so that the entry does not retain the request. */
  callback: (() => void) | undefined;
}

/** The queue is compacted when more empty slots than this are at its front. */
const MAX_EMPTY = 1_024;

/**
 * Shares one timer between all entries: most are cancelled long before they fall due, and a timer each is
 * costly. The queue is an array because a Set with constant turnover rehashes again and again; each old
 * table, once tenured, keeps its successor alive through minor garbage collections.
 */
export function createDeadline(timeMs: number): Deadline {
  // In the order in which they were set, starting at `first`.
  let entries: (Entry | undefined)[] = [];
  let first = 0;
  let timer: NodeJS.Timeout | undefined;

  /** The first pending entry. Drops the finished ones before it. */
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

/** Settles like `work`, or rejects with `late()` if the timeout elapses first. The work itself continues. */
export function within<T>(deadline: Deadline, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = deadline.set(() => reject(late()));
    work.finally(cancel).then(resolve, reject);
  });
}
