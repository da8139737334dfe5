/** A bucket of tokens that fills up steadily (the source's "Limits"). */
export interface BucketPolicy {
  /** How many tokens it holds: the burst. */
  readonly burst: number;
  /** How many flow in each second: the sustained rate. */
  readonly perSecond: number;
}

/**
 * A bucket at one moment, as what is missing from it. A full one misses nothing, whatever its policy: it needs no state,
 * and credentials with limits of their own can share the bucket of their account without emptying it for each other.
 */
export interface BucketState {
  missing: number;
  atMs: number;
}

/** A bucket as a request finds it, or leaves it. */
export interface Level {
  readonly policy: BucketPolicy;
  missing: number;
}

/** What became of a request for a token. */
export interface Taken {
  readonly allowed: boolean;
  /** The policy of the bucket that is told of: the emptier one, where there are two. */
  readonly policy: BucketPolicy;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Until the next token is there, in each bucket; 0 where the request was allowed. */
  readonly retryAfterMs: number;
  /** Until the bucket is full again. */
  readonly fullAfterMs: number;
}

/**
 * The bucket at `nowMs`, refilled continuously. One from the future has been stamped by a clock that was set back
 * since: it refills from now on.
 */
export function levelAt(state: BucketState | undefined, nowMs: number, policy: BucketPolicy): Level {
  if (state === undefined) return { policy, missing: 0 };
  const elapsedMs = Math.max(0, nowMs - state.atMs);
  return { policy, missing: Math.max(0, state.missing - (elapsedMs * policy.perSecond) / 1000) };
}

const tokensIn = ({ policy, missing }: Level) => policy.burst - missing;

/** Whether there is a whole token in the bucket. */
export function holdsToken(level: Level): boolean {
  return tokensIn(level) >= 1;
}

function retryAfterMs(level: Level): number {
  return Math.max(0, ((1 - tokensIn(level)) / level.policy.perSecond) * 1000);
}

/** Describes the bucket, or the two, after a token was taken from each, or from none. */
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
