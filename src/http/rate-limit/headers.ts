import type { Taken } from './token-bucket.ts';

/** Seconds for a header: never too early. */
export const wholeSeconds = (ms: number): number => Math.ceil(ms / 1000);

/** The bucket's state as X-RateLimit headers and as those of draft-ietf-httpapi-ratelimit-headers-10. */
export function rateLimitHeaders(
  { remaining, fullAfterMs, policy: { burst, perSecond } }: Taken,
  nowMs: number,
): Record<string, string> {
  return {
    'x-ratelimit-limit': String(burst),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(wholeSeconds(nowMs + fullAfterMs)),
    ratelimit: `"default";r=${remaining};t=${wholeSeconds(fullAfterMs)}`,
    'ratelimit-policy': `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`,
  };
}
