import { withTimeout } from './deadline.ts';

/** One read that hangs must not block all keys. */
const MAX_RUNNING = 4;
const MAX_KEYS = 500;

export interface BatchReadsOptions<Key> {
  /** Keys with one identity count once in a read. */
  readonly identityOf?: (key: Key) => unknown;
  readonly maxRunning?: number;
  readonly maxKeys?: number;
  /** Awaited before each read, so that more keys can join the read. */
  readonly pause?: () => Promise<unknown>;
}

/**
 * Keys that arrive while `maxRunning` reads are running share the next read, which starts after all of them
 * have arrived.
 * @param read returns the values in the order of the keys
 * @throws the error of the read
 */
export function batchReads<Key, Value>(
  read: (keys: readonly Key[]) => Promise<readonly Value[]>,
  {
    identityOf = (key) => key,
    maxRunning = MAX_RUNNING,
    maxKeys = MAX_KEYS,
    pause,
  }: BatchReadsOptions<Key> = {},
): (key: Key) => Promise<Value> {
  const waiting = new Map<unknown, PromiseWithResolvers<Value> & { readonly key: Key }>();
  let running = 0;

  async function run(): Promise<void> {
    running += 1;
    while (waiting.size > 0) {
      if (pause !== undefined) await pause();
      const requested = [...waiting].slice(0, maxKeys);
      for (const [identity] of requested) waiting.delete(identity);
      try {
        const values = await read(requested.map(([, { key }]) => key));
        for (const [index, [, { resolve }]] of requested.entries()) resolve(values[index] as Value);
      } catch (error) {
        for (const [, { reject }] of requested) reject(error);
      }
    }
    running -= 1;
  }

  return (key) => {
    const identity = identityOf(key);
    const known = waiting.get(identity);
    if (known !== undefined) return known.promise;
    const requested = { key, ...Promise.withResolvers<Value>() };
    waiting.set(identity, requested);
    if (running < maxRunning) void run();
    return requested.promise;
  };
}

/**
 * Repeats a statement that changes at most `size` rows until it changes fewer. Short transactions hold locks
 * briefly. An aborted `signal` stops the loop between two statements.
 * @param run returns the number of changed rows
 * @returns the number of all changed rows
 * @throws the error of `run`
 */
export async function runInBatches(
  size: number,
  run: () => Promise<number>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0;
  for (;;) {
    const changed = await run();
    total += changed;
    if (changed < size || signal?.aborted) return total;
  }
}

/**
 * Runs `work` once at a time. All calls during a run share one more run.
 * @returns a function whose promise settles after the last run, with the error of `work`, if any
 */
export function coalesceRuns(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let isRequested = false;

  async function runWhileRequested(): Promise<void> {
    try {
      while (isRequested) {
        isRequested = false;
        await work();
      }
    } finally {
      running = undefined;
    }
  }

  return () => {
    isRequested = true;
    running ??= runWhileRequested();
    return running;
  };
}

/** A shutdown waits this long for the database. */
const LAST_STORE_MS = 5_000;

/**
 * Stores at each interval, one run at a time.
 * @param store never rejects
 * @returns a function that stores once more and then stops
 */
export function storePeriodically(intervalMs: number, store: () => Promise<void>): () => Promise<void> {
  const run = coalesceRuns(store);
  const timer = setInterval(run, intervalMs).unref();
  return async () => {
    clearInterval(timer);
    await withTimeout(LAST_STORE_MS, run());
  };
}
