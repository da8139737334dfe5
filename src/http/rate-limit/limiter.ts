import type { FailureCounter, FailureNames } from '../../auth/login.ts';
import type { Clock } from '../../platform/deadline.ts';
import { type ApiError, tryLater } from '../../platform/errors.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import type { Bucket, BucketPolicy, BucketStore } from './bucket-store.ts';

/** Header values are rounded up, so that a retry is never too early. */
export const wholeSeconds = (ms: number): number => Math.ceil(ms / 1000);

/** Clients see headers, but readers of a page do not. */
export const WAIT_AS_TOLD = 'Try again after the time in Retry-After.';

function rateLimited(sentence: string, retryAfterMs: number): ApiError {
  return tryLater('RATE_LIMITED', `${sentence} ${WAIT_AS_TOLD}`, Math.max(1, wholeSeconds(retryAfterMs)));
}

interface RateLimiterOptions {
  readonly store: BucketStore;
  readonly clock: Clock;
  /** Failures of one kind under one name share a bucket with this policy. */
  readonly failures: BucketPolicy;
  readonly metrics: Metrics;
}

export function createRateLimiter({ store, clock, failures, metrics }: RateLimiterOptions) {
  const checks = metrics.fastCounter(
    'content_graph_rate_limit_checks_total',
    'Tokens requested from buckets: client, account, login, credential, metrics-token, sign-up.',
    ['bucket', 'outcome'],
  );
  const rejections = metrics.counter(
    'content_graph_rate_limited_requests_total',
    'Requests rejected with 429.',
    ['reason'],
  );
  for (const bucket of ['client', 'account', 'login', 'credential', 'metrics-token', 'sign-up'])
    for (const outcome of ['allowed', 'rejected']) checks.add(bucket, outcome, 0);

  const failuresOf = (kind: string, sentence = 'Too many failed attempts.'): FailureCounter => {
    const bucketOf = (name: string): Bucket => ({ name: `failure:${kind}:${name}`, policy: failures });
    const bucketsOf = ([name, other]: FailureNames) =>
      [bucketOf(name), other === undefined ? undefined : bucketOf(other)] as const;
    return {
      async failure(...names) {
        const { allowed, retryAfterMs } = await store.take(...bucketsOf(names));
        checks.add(kind, allowed ? 'allowed' : 'rejected', allowed ? names.length : 1);
        if (allowed) return;
        rejections.inc({ reason: 'failures' });
        throw rateLimited(sentence, retryAfterMs);
      },
      forgive: (...names) => store.giveBack(...bucketsOf(names)),
    };
  };
  return {
    /**
     * Takes a token from the client's bucket and the account's bucket, or from neither.
     * @returns the state of the emptier bucket at `atMs`, in milliseconds since the epoch, and a `rejection` if a
     * bucket was empty
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
    logins: failuresOf('login'),
    /**
     * Any web page can make a browser send invalid keys, tokens and secrets. These failures must not lock out logins.
     */
    credentials: failuresOf('credential'),
    /** The right metrics token is not limited. */
    metricsTokens: failuresOf('metrics-token'),
    /** An issuer may sign tokens for any number of new subjects. */
    signUps: failuresOf('sign-up', 'Too many new accounts from this IP address.'),
  };
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;
