import { ApiError } from '../../graphql/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { BucketStore } from './store.ts';
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
  { remaining, fullAfterMs }: Taken,
  { burst, perSecond }: BucketPolicy,
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

/** Counts the requests of clients and the failures of those who guess. */
export interface RateLimiter {
  /** Takes a client's token. Returns the headers to answer with; `refusal` where the bucket was empty. */
  request(
    client: string,
    policy: BucketPolicy,
  ): Promise<{ headers: Record<string, string>; refusal: ApiError | undefined }>;
  /** Counts a failure under a name. Throws RATE_LIMITED where there were too many. */
  failure(name: string): Promise<void>;
  /** Takes a failure back that was counted before it was known to be none. */
  forgive(name: string): Promise<void>;
}

export interface RateLimiterOptions {
  readonly store: BucketStore;
  readonly clock: Clock;
  /** The bucket of failures under one name. */
  readonly failures: BucketPolicy;
}

export function createRateLimiter({ store, clock, failures }: RateLimiterOptions): RateLimiter {
  return {
    async request(client, policy) {
      const taken = await store.take(`client:${client}`, policy);
      const refusal = taken.allowed
        ? undefined
        : rateLimited('Too many requests: wait for Retry-After.', taken.retryAfterMs);
      return { headers: rateLimitHeaders(taken, policy, clock.now()), refusal };
    },
    async failure(name) {
      const { allowed, retryAfterMs } = await store.take(`failure:${name}`, failures);
      if (!allowed) throw rateLimited('Too many failed attempts: wait for Retry-After.', retryAfterMs);
    },
    forgive: (name) => store.giveBack(`failure:${name}`, failures),
  };
}
