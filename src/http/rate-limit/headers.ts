import { ApiError } from '../../graphql/errors.ts';
import type { Taken } from './token-bucket.ts';

/** Seconds for a header: never too early. */
const wholeSeconds = (ms: number): number => Math.ceil(ms / 1000);

/** The fields of `rateLimitHeaders`. */
export const RATE_LIMIT_FIELDS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'ratelimit-policy',
] as const;

/** The bucket's state as X-RateLimit headers and as those of draft-ietf-httpapi-ratelimit-headers-10. */
export function rateLimitHeaders(
  { remaining, fullAfterMs, policy: { burst, perSecond } }: Taken,
  nowMs: number,
): Record<(typeof RATE_LIMIT_FIELDS)[number], string> {
  return {
    'x-ratelimit-limit': String(burst),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(wholeSeconds(nowMs + fullAfterMs)),
    ratelimit: `"default";r=${remaining};t=${wholeSeconds(fullAfterMs)}`,
    'ratelimit-policy': `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`,
  };
}

/** What clients are told. Readers of a page do not see headers. */
export const WAIT_AS_TOLD = 'Wait for the time given in Retry-After.';

/** The refusal of a request when its bucket is empty: the sentence says of what there was too much. */
export function rateLimited(sentence: string, retryAfterMs: number): ApiError {
  return new ApiError('RATE_LIMITED', `${sentence} ${WAIT_AS_TOLD}`, {
    headers: { 'retry-after': String(Math.max(1, wholeSeconds(retryAfterMs))) },
  });
}
