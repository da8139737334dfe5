import type { Config } from '../../platform/config.ts';

/** A token bucket that refills continuously (contract section 5). */
export type BucketPolicy = Config['rateLimit'];

/**
 * A bucket at one moment, as the number of missing tokens. A full bucket has none missing, whatever its
 * policy, so it needs no state. It also lets credentials with different limits share the bucket of their
 * account without emptying it for each other.
 */
export interface BucketState {
  missing: number;
  atMs: number;
}

/** A bucket as a request finds it or leaves it. */
export interface Level {
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
export function levelAt(state: BucketState, nowMs: number, policy: BucketPolicy): Level {
  const elapsedMs = Math.max(0, nowMs - state.atMs);
  return { policy, missing: Math.max(0, state.missing - (elapsedMs * policy.perSecond) / 1000) };
}

const tokensIn = ({ policy, missing }: Level) => policy.burst - missing;

/** Whether the bucket has a whole token. */
export function holdsToken(level: Level): boolean {
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
