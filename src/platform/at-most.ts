import { setTimeout as delay } from 'node:timers/promises';

/** Waits for `done`, but no longer than `limitMs`. Whether it came in time; rejects if it rejects within that time. */
export async function atMost(limitMs: number, done: Promise<unknown>): Promise<boolean> {
  const limit = new AbortController();
  try {
    const late = delay(Math.max(0, limitMs), false, { signal: limit.signal }).catch(() => false);
    return await Promise.race([done.then(() => true), late]);
  } finally {
    // A pending timer would keep the process alive.
    limit.abort();
  }
}
