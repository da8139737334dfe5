import { isAuthenticated } from '../auth/principal.ts';
import { ApiError } from '../graphql/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import { addressKey } from './client-address.ts';
import { errorResponse } from './error-response.ts';
import type { RateLimiter } from './rate-limit/limiter.ts';
import type { BucketPolicy } from './rate-limit/token-bucket.ts';
import { clientOf, type HttpPlugin } from './request-state.ts';

/** Requests to these take a token each (contract section 5). */
const LIMITED_PATHS = new Set(['/graphql', '/login', '/oauth/token']);

export interface RateLimitOptions {
  readonly limiter: RateLimiter;
  readonly policy: BucketPolicy;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/**
 * One token a request, whatever becomes of it, taken before anything of it is parsed. Comes after authentication, so
 * that all kinds of credentials count alike; bad ones count against the address twice, here and as failures.
 */
export function useRateLimit({ limiter, policy, metrics, log }: RateLimitOptions): HttpPlugin {
  const refusals = metrics.counter('rate_limited_total', 'Requests refused with 429.', ['reason']);
  return {
    async onRequest({ url, serverContext: { state }, endResponse }) {
      if (!LIMITED_PATHS.has(url.pathname)) return undefined;
      const own =
        state.caller !== undefined && isAuthenticated(state.caller) ? state.caller.rateLimit : undefined;
      const { headers, refusal } = await limiter.request(clientOf(state), { ...policy, ...own });
      Object.assign(state.responseHeaders, headers);
      if (refusal !== undefined) {
        refusals.inc({ reason: 'requests' });
        return endResponse(errorResponse(refusal, state, log));
      }
      const { authenticationError } = state;
      if (authenticationError === undefined) {
        state.credentialUsed?.();
        return undefined;
      }
      try {
        if (authenticationError instanceof ApiError && authenticationError.code === 'UNAUTHENTICATED')
          await limiter.failure(`address:${addressKey(state.clientAddress)}`);
      } catch (error) {
        refusals.inc({ reason: 'failures' });
        return endResponse(errorResponse(error, state, log));
      }
      return endResponse(errorResponse(authenticationError, state, log));
    },
  };
}
