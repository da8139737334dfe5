import type { Clock } from '../../platform/clock.ts';
import { memoryBuckets } from '../rate-limit/store.ts';
import type { BucketPolicy } from '../rate-limit/token-bucket.ts';

/** Occasional requests get a fresh text. Floods get the last one, at most a tenth of a second old. */
const MAKINGS: BucketPolicy = { burst: 20, perSecond: 10 };

/** Shares a text that is expensive to produce, and refreshes it at a limited rate. */
export function sharedText(
  make: () => Promise<string>,
  clock: Pick<Clock, 'elapsedMs'>,
): () => Promise<string> {
  const bucket = { name: 'makings', policy: MAKINGS };
  const buckets = memoryBuckets(clock, 1);
  let last: Promise<string> | undefined;
  let making = false;
  return async () => {
    // Concurrent requests share one result, or a burst of them would block the process.
    if (making && last !== undefined) return last;
    const { allowed } = await buckets.take(bucket);
    if (last === undefined || (allowed && !making)) {
      making = true;
      const made = make().finally(() => {
        making = false;
      });
      last = made;
      made.catch(() => {
        if (last === made) last = undefined;
      });
    }
    return last;
  };
}
