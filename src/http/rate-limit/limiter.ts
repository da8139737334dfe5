import type { FailureCounter, FailureNames } from '../../auth/login.ts';
import type { Clock } from '../../platform/deadline.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import type { Bucket, BucketPolicy, BucketStore } from './bucket-store.ts';

/** Seconds for a header: never too early. */
export const wholeSeconds = (ms: number): number => Math.ceil(ms / 1000);

/** What clients are told. Readers of a page do not see headers. */
export const WAIT_AS_TOLD = 'Try again after the time in Retry-After.';

/** The rejection of a request when its bucket is empty: the sentence says of what there was too much. */
function rateLimited(sentence: string, retryAfterMs: number): ApiError {
  return new ApiError('RATE_LIMITED', `${sentence} ${WAIT_AS_TOLD}`, {
    headers: { 'retry-after': String(Math.max(1, wholeSeconds(retryAfterMs))) },
  });
}

interface RateLimiterOptions {
  readonly store: BucketStore;
  readonly clock: Clock;
  /** The bucket for failures of one kind under one name. */
  readonly failures: BucketPolicy;
  readonly metrics: Metrics;
}

/** Limits the requests of clients, and failed guesses. */
export function createRateLimiter({ store, clock, failures, metrics }: RateLimiterOptions) {
  const checks = metrics.fastCounter(
    'content_graph_rate_limit_checks_total',
    'Tokens requested from rate limit buckets, by bucket (client, account, login, credential, metrics-token) and outcome (allowed, rejected).',
    ['bucket', 'outcome'],
  );
  const rejections = metrics.counter(
    'content_graph_rate_limited_requests_total',
    'Requests rejected with 429, by reason.',
    ['reason'],
  );
  for (const bucket of ['client', 'account', 'login', 'credential', 'metrics-token'])
    for (const outcome of ['allowed', 'rejected']) checks.add(bucket, outcome, 0);

  const failuresOf = (kind: string): FailureCounter => {
    const group = `failure:${kind}`;
    const bucketOf = (name: string): Bucket => ({ name: `${group}:${name}`, policy: failures, group });
    const bucketsOf = ([name, other]: FailureNames) =>
      [bucketOf(name), other === undefined ? undefined : bucketOf(other)] as const;
    return {
      async failure(...names) {
        const { allowed, retryAfterMs } = await store.take(...bucketsOf(names));
        checks.add(kind, allowed ? 'allowed' : 'rejected', allowed ? names.length : 1);
        if (allowed) return;
        rejections.inc({ reason: 'failures' });
        throw rateLimited('Too many failed attempts.', retryAfterMs);
      },
      forgive: (...names) => store.giveBack(...bucketsOf(names)),
    };
  };
  return {
    /**
     * Takes a token from the client's bucket and from its account's, or from neither.
     * @returns the state of the emptier bucket at `atMs`, in milliseconds since the epoch, and a `rejection` if one was empty
     */
    async request(client: Bucket, account?: Bucket) {
      const taken = await store.take(client, account);
      const atMs = clock.now();
      if (taken.allowed) {
        checks.add('client', 'allowed');
        if (account !== undefined) checks.add('account', 'allowed');
        return { taken, atMs, rejection: undefined };
      }
      rejections.inc({ reason: 'requests' });
      const shared = taken.policy === account?.policy;
      checks.add(shared ? 'account' : 'client', 'rejected');
      const whose = shared ? ' across all credentials of this account' : '';
      return { taken, atMs, rejection: rateLimited(`Too many requests${whose}.`, taken.retryAfterMs) };
    },
    /** Returns the tokens of a request that turned out not to be the client's. */
    giveBack: (client: Bucket, account?: Bucket): Promise<void> => store.giveBack(client, account),
    /** Failed logins, against password guessing. */
    logins: failuresOf('login'),
    /**
     * Failed keys, tokens and secrets. Any web page can make a browser send those, so they must not lock out logins.
     */
    credentials: failuresOf('credential'),
    /** Wrong metrics tokens. The right one is not asked of them. */
    metricsTokens: failuresOf('metrics-token'),
  };
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;
