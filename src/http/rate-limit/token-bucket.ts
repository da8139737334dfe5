/** A bucket of tokens that fills up steadily (the source's "Limits"). */
export interface BucketPolicy {
  /** How many tokens it holds: the burst. */
  readonly burst: number;
  /** How many flow in each second: the sustained rate. */
  readonly perSecond: number;
}

/** A bucket at one moment. */
export interface BucketState {
  readonly tokens: number;
  readonly atMs: number;
}

/** What became of a request for a token. */
export interface Taken {
  readonly allowed: boolean;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Until the next token is there; 0 where the request was allowed. */
  readonly retryAfterMs: number;
  /** Until the bucket is full again. */
  readonly fullAfterMs: number;
}

/** The tokens at `nowMs`, refilled continuously. A clock that goes back takes nothing away. */
function refilled(state: BucketState | undefined, nowMs: number, { burst, perSecond }: BucketPolicy): number {
  if (state === undefined) return burst;
  const elapsedMs = Math.max(0, nowMs - state.atMs);
  return Math.min(burst, state.tokens + (elapsedMs * perSecond) / 1000);
}

/** Describes a bucket that holds `tokens` after a token was taken, or could not be. */
export function describe(allowed: boolean, tokens: number, { burst, perSecond }: BucketPolicy): Taken {
  return {
    allowed,
    remaining: Math.floor(tokens),
    retryAfterMs: allowed ? 0 : ((1 - tokens) / perSecond) * 1000,
    fullAfterMs: ((burst - tokens) / perSecond) * 1000,
  };
}

/** Takes one token if there is one. A pure function: undefined is a bucket that nobody has touched, a full one. */
export function take(
  state: BucketState | undefined,
  nowMs: number,
  policy: BucketPolicy,
): { state: BucketState; taken: Taken } {
  const tokens = refilled(state, nowMs, policy);
  const allowed = tokens >= 1;
  const left = allowed ? tokens - 1 : tokens;
  return {
    state: { tokens: left, atMs: Math.max(nowMs, state?.atMs ?? nowMs) },
    taken: describe(allowed, left, policy),
  };
}

/** Puts a token back, for work that turned out not to count. */
export function giveBack(state: BucketState, nowMs: number, policy: BucketPolicy): BucketState {
  return {
    tokens: Math.min(policy.burst, refilled(state, nowMs, policy) + 1),
    atMs: Math.max(nowMs, state.atMs),
  };
}
