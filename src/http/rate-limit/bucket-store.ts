import { LRUCache } from 'lru-cache';
import type { Config } from '../../platform/config/config.ts';
import type { Clock } from '../../platform/deadline.ts';

/** The bucket refills continuously (contract: rate limits). */
export type BucketPolicy = Config['rateLimit'];

/**
 * A full bucket misses no tokens under any policy, so it needs no state. Credentials with different limits can
 * therefore share the bucket of their account without emptying it for each other.
 */
interface BucketState {
  missing: number;
  atMs: number;
}

interface Level {
  readonly policy: BucketPolicy;
  missing: number;
}

export interface Taken {
  readonly allowed: boolean;
  /** Of two buckets, the policy of the emptier bucket is reported. */
  readonly policy: BucketPolicy;
  readonly remaining: number;
  /** Each bucket has a token after this time. 0 means that the request was allowed. */
  readonly retryAfterMs: number;
  /** The bucket is full after this time. */
  readonly fullAfterMs: number;
}

/** A timestamp in the future means that the clock was set back, so the bucket refills from now on. */
function levelAt(state: BucketState, nowMs: number, policy: BucketPolicy): Level {
  const elapsedMs = Math.max(0, nowMs - state.atMs);
  return { policy, missing: Math.max(0, state.missing - (elapsedMs * policy.perSecond) / 1000) };
}

const tokensIn = ({ policy, missing }: Level) => policy.burst - missing;

function holdsToken(level: Level): boolean {
  return tokensIn(level) >= 1;
}

function retryAfterMs(level: Level): number {
  return Math.max(0, ((1 - tokensIn(level)) / level.policy.perSecond) * 1000);
}

export function describe(allowed: boolean, first: Level, second: Level = first): Taken {
  const emptier = tokensIn(second) < tokensIn(first) ? second : first;
  const { policy, missing } = emptier;
  return {
    allowed,
    policy,
    remaining: Math.max(0, Math.floor(tokensIn(emptier))),
    retryAfterMs: allowed ? 0 : Math.max(retryAfterMs(first), retryAfterMs(second)),
    fullAfterMs: (missing / policy.perSecond) * 1000,
  };
}

export interface Bucket {
  readonly name: string;
  readonly policy: BucketPolicy;
}

export interface BucketStore {
  /** Takes a token from both buckets, or from neither if one bucket is empty. */
  take(own: Bucket, shared?: Bucket): Promise<Taken> | Taken;
  /** Returns a token to each bucket, for work that turned out not to count. */
  giveBack(own: Bucket, shared?: Bucket): Promise<void>;
  close(): Promise<void>;
}

/** Beyond this many buckets, the least recently used bucket is evicted, which refills it. */
const MAX_BUCKETS = 100_000;

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
