import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/clock.ts';
import { type BucketPolicy, type BucketState, giveBack, type Taken, take } from './token-bucket.ts';

/** Where buckets are kept, by name. */
export interface BucketStore {
  /** Takes a token from the bucket, if there is one. */
  take(name: string, policy: BucketPolicy): Promise<Taken> | Taken;
  /** Puts a token back into the bucket. */
  giveBack(name: string, policy: BucketPolicy): Promise<void>;
  close(): Promise<void>;
}

/** Beyond this many the bucket that was used longest ago is forgotten, which fills it. */
const MAX_BUCKETS = 100_000;

/** Buckets of this process alone. */
export function memoryBuckets(clock: Clock): BucketStore {
  const buckets = new LRUCache<string, BucketState>({ max: MAX_BUCKETS });
  return {
    take(name, policy) {
      const { state, taken } = take(buckets.get(name), clock.now(), policy);
      buckets.set(name, state);
      return taken;
    },
    async giveBack(name, policy) {
      const state = buckets.get(name);
      if (state !== undefined) buckets.set(name, giveBack(state, clock.now(), policy));
    },
    close: async () => undefined,
  };
}
