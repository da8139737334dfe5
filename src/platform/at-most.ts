import { setTimeout as delay } from 'node:timers/promises';

/** Resolves when `done` does, and after `limitMs` whatever becomes of it. Rejects with what `done` rejects with before. */
export async function atMost(limitMs: number, done: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  try {
    // Aborted when it is not needed any more: a timer left would keep a process that ends.
    await Promise.race([done, delay(limitMs, undefined, { signal: limit.signal }).catch(() => undefined)]);
  } finally {
    limit.abort();
  }
}
