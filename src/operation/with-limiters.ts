import type { Cancellation } from '../platform/db/cancellation.ts';
import type { ConcurrencyLimiter } from './concurrency-limiter.ts';

/**
 * Runs once every limiter has a slot. Waiting counts towards its time. Rejects with the refusal of a limiter.
 */
export async function withLimiters<T>(
  limiters: readonly ConcurrencyLimiter[],
  cancellation: Cancellation,
  run: () => Promise<T>,
): Promise<T> {
  let passed = 0;
  try {
    for (const limiter of limiters) {
      const waiting = limiter.enter(cancellation);
      if (waiting !== undefined) await waiting;
      passed += 1;
    }
    return await run();
  } finally {
    for (const limiter of limiters.slice(0, passed)) limiter.leave();
  }
}
