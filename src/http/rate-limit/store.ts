import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/clock.ts';
import {
  type BucketPolicy,
  type BucketState,
  describe,
  holdsToken,
  levelAt,
  type Taken,
} from './token-bucket.ts';

/** A named bucket. */
export interface Bucket {
  readonly name: string;
  readonly policy: BucketPolicy;
  /** That of the buckets from which tokens are taken together: a cluster of stores must have them in one place. */
  readonly group?: string;
}

/** Stores buckets by name. */
export interface BucketStore {
  /** Takes a token from the bucket and from the shared one, or from neither if one is empty. */
  take(own: Bucket, shared?: Bucket): Promise<Taken> | Taken;
  /** Returns a token to each bucket, for work that turned out not to count. */
  giveBack(own: Bucket, shared?: Bucket): Promise<void>;
  close(): Promise<void>;
}

/** Beyond this many, the least recently used bucket is evicted, which refills it. */
const MAX_BUCKETS = 100_000;

/** Buckets of this process only. */
export function memoryBuckets(clock: Pick<Clock, 'elapsedMs'>, max = MAX_BUCKETS): BucketStore {
  const buckets = new LRUCache<string, BucketState>({ max });

  function stateOf(name: string, nowMs: number): BucketState {
    let state = buckets.get(name);
    if (state === undefined) {
      state = { missing: 0, atMs: nowMs };
      buckets.set(name, state);
    }
    return state;
  }

  function set(state: BucketState, missing: number, nowMs: number): void {
    state.missing = missing;
    state.atMs = nowMs;
  }

  return {
    take(own, shared) {
      const nowMs = clock.elapsedMs();
      const ownState = stateOf(own.name, nowMs);
      const sharedState = shared && stateOf(shared.name, nowMs);
      const first = levelAt(ownState, nowMs, own.policy);
      const second = sharedState && levelAt(sharedState, nowMs, shared.policy);
      const allowed = holdsToken(first) && (second === undefined || holdsToken(second));
      if (!allowed) return describe(false, first, second);
      first.missing += 1;
      set(ownState, first.missing, nowMs);
      if (second !== undefined && sharedState !== undefined) {
        second.missing += 1;
        set(sharedState, second.missing, nowMs);
      }
      return describe(true, first, second);
    },
    async giveBack(...given) {
      const nowMs = clock.elapsedMs();
      for (const bucket of given) {
        if (bucket === undefined) continue;
        const state = stateOf(bucket.name, nowMs);
        set(state, Math.max(0, levelAt(state, nowMs, bucket.policy).missing - 1), nowMs);
      }
    },
    close: async () => undefined,
  };
}
