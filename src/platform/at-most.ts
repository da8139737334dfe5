import { setTimeout as delay } from 'node:timers/promises';

/** Waits for `done`, but no longer than `limitMs`. Rejects if `done` rejects within that time. */
export async function atMost(limitMs: number, done: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  try {
    await Promise.race([done, delay(limitMs, undefined, { signal: limit.signal }).catch(() => undefined)]);
  } finally {
    // A pending timer would keep the process alive.
    limit.abort();
  }
}
