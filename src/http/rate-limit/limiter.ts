import { ApiError } from '../../graphql/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Bucket, BucketStore } from './store.ts';
import type { BucketPolicy, Taken } from './token-bucket.ts';

const seconds = (ms: number) => Math.ceil(ms / 1000);

/** The refusal of a client whose bucket is empty. */
export function rateLimited(message: string, retryAfterMs: number): ApiError {
  return new ApiError('RATE_LIMITED', message, {
    headers: { 'retry-after': String(Math.max(1, seconds(retryAfterMs))) },
  });
}

/** The bucket's state as headers: the source's, and those of draft-ietf-httpapi-ratelimit-headers-10. */
export function rateLimitHeaders(
  { remaining, fullAfterMs, policy: { burst, perSecond } }: Taken,
  nowMs: number,
): Record<string, string> {
  return {
    'x-ratelimit-limit': String(burst),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(seconds(nowMs + fullAfterMs)),
    ratelimit: `"default";r=${remaining};t=${seconds(fullAfterMs)}`,
    'ratelimit-policy': `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`,
  };
}

/** Counts those who guess, by name: an address, an account. */
export interface Failures {
  /** Counts a failure. Throws RATE_LIMITED where there were too many. */
  failure(name: string): Promise<void>;
  /** Takes a failure back that was counted before it was known to be none. */
  forgive(name: string): Promise<void>;
}

/** Counts the requests of clients and the failures of those who guess. */
export interface RateLimiter {
  /**
   * Takes a token of a client and of its account, or of neither. Returns the headers to answer with, which tell of the
   * emptier bucket; `refusal` where one was empty.
   */
  request(
    client: Bucket,
    account?: Bucket,
  ): Promise<{ headers: Record<string, string>; refusal: ApiError | undefined }>;
  /** Failed logins: passwords can be guessed. */
  readonly logins: Failures;
  /** Failed keys, tokens and secrets, which any web page can have a browser send: they must not lock a login out. */
  readonly credentials: Failures;
}

export interface RateLimiterOptions {
  readonly store: BucketStore;
  readonly clock: Clock;
  /** The bucket of failures of one kind under one name. */
  readonly failures: BucketPolicy;
}

export function createRateLimiter({ store, clock, failures }: RateLimiterOptions): RateLimiter {
  const failuresOf = (kind: string): Failures => {
    const bucketOf = (name: string): Bucket => ({ name: `failure:${kind}:${name}`, policy: failures });
    return {
      async failure(name) {
        const { allowed, retryAfterMs } = await store.take(bucketOf(name));
        if (!allowed) throw rateLimited('Too many failed attempts: wait for Retry-After.', retryAfterMs);
      },
      forgive: (name) => store.giveBack(bucketOf(name)),
    };
  };
  return {
    async request(client, account) {
      const taken = await store.take(client, account);
      const headers = rateLimitHeaders(taken, clock.now());
      if (taken.allowed) return { headers, refusal: undefined };
      const whose = taken.policy === account?.policy ? ' with the credentials of this account together' : '';
      const message = `Too many requests${whose}: wait for Retry-After.`;
      return { headers, refusal: rateLimited(message, taken.retryAfterMs) };
    },
    logins: failuresOf('login'),
    credentials: failuresOf('credential'),
  };
}
