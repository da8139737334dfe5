import { setTimeout as delay } from 'node:timers/promises';

/** Waits for work until a deadline (`performance.now()`). False if it has not ended by then. Rejects as the work does. */
export async function settledBy(work: Promise<unknown>, deadlineMs: number): Promise<boolean> {
  const limit = new AbortController();
  const late = delay(Math.max(0, deadlineMs - performance.now()), false, { signal: limit.signal }).catch(
    () => false,
  );
  const done = await Promise.race([work.then(() => true), late]);
  limit.abort();
  return done;
}
