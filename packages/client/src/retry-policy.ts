/** How long a client repeats requests. */
export interface RetryPolicy {
  /** The time budget of a mutation: 120 s, longer than a restart of the service. */
  readonly mutationBudgetMs: number;
  /** The time budget of a query: 60 s. */
  readonly queryBudgetMs: number;
  /** The time limit of one attempt: 15 s. */
  readonly attemptTimeoutMs: number;
  /** The longest first pause: 200 ms. Each further pause is up to twice as long. */
  readonly minPauseMs: number;
  /** The longest pause that the service did not ask for: 10 s. */
  readonly maxPauseMs: number;
}

const DEFAULTS: RetryPolicy = {
  mutationBudgetMs: 120_000,
  queryBudgetMs: 60_000,
  attemptTimeoutMs: 15_000,
  minPauseMs: 200,
  maxPauseMs: 10_000,
};

export function createRetryPolicy(options: Partial<RetryPolicy> = {}): RetryPolicy {
  return { ...DEFAULTS, ...options };
}

/** Computes the pause after a failed attempt, from 1. `Retry-After` is never shortened. */
export function computePauseMs(
  policy: RetryPolicy,
  attempt: number,
  retryAfterMs: number | undefined,
  random: number,
): number {
  const { minPauseMs, maxPauseMs } = policy;
  const jitteredMs = Math.min(maxPauseMs, minPauseMs * 2 ** (attempt - 1)) * (0.5 + random / 2);
  return Math.round(retryAfterMs === undefined ? jitteredMs : retryAfterMs + minPauseMs * random);
}
