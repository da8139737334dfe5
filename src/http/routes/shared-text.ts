import type { Clock } from '../../platform/clock.ts';
import { memoryBuckets } from '../rate-limit/store.ts';
import type { BucketPolicy } from '../rate-limit/token-bucket.ts';

/** Whoever looks now and then gets a text of this moment, whoever floods the last one, a tenth of a second old. */
const MAKINGS: BucketPolicy = { burst: 20, perSecond: 10 };

/** A text that costs much to make, for anybody who asks: made so often at most, and in between told again. */
export function sharedText(
  make: () => Promise<string>,
  clock: Pick<Clock, 'elapsedMs'>,
): () => Promise<string> {
  const bucket = { name: 'makings', policy: MAKINGS };
  const buckets = memoryBuckets(clock, 1);
  let last: Promise<string> | undefined;
  let making = false;
  return async () => {
    // Those who ask at the same moment share one, or a burst of them would hold up the process.
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
