import { LRUCache } from 'lru-cache';
import type { Config } from '../../platform/config/config.ts';
import type { Clock } from '../../platform/deadline.ts';

/** A token bucket that refills continuously (contract section 5). */
export type BucketPolicy = Config['rateLimit'];

/**
 * A bucket at one moment, as the number of missing tokens. A full bucket has none missing, whatever its
 * policy, so it needs no state. It also lets credentials with different limits share the bucket of their
 * account without emptying it for each other.
 */
interface BucketState {
  missing: number;
  atMs: number;
}

/** A bucket as a request finds it or leaves it. */
interface Level {
  readonly policy: BucketPolicy;
  missing: number;
}

/** The result of a request for a token. */
export interface Taken {
  readonly allowed: boolean;
  /** Policy of the reported bucket, which is the emptier of two. */
  readonly policy: BucketPolicy;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Time until each bucket has a token; 0 if the request was allowed. */
  readonly retryAfterMs: number;
  /** Time until the bucket is full. */
  readonly fullAfterMs: number;
}

/**
 * The bucket at `nowMs`, refilled continuously. A timestamp in the future means that the clock was set back:
 * the bucket then refills from now on.
 */
function levelAt(state: BucketState, nowMs: number, policy: BucketPolicy): Level {
  const elapsedMs = Math.max(0, nowMs - state.atMs);
  return { policy, missing: Math.max(0, state.missing - (elapsedMs * policy.perSecond) / 1000) };
}

const tokensIn = ({ policy, missing }: Level) => policy.burst - missing;

/** Whether the bucket has a whole token. */
function holdsToken(level: Level): boolean {
  return tokensIn(level) >= 1;
}

function retryAfterMs(level: Level): number {
  return Math.max(0, ((1 - tokensIn(level)) / level.policy.perSecond) * 1000);
}

/** Describes one or two buckets, after a token was taken from each or from none. */
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
