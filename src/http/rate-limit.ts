import { isAuthenticated } from '../auth/principal.ts';
import { ApiError } from '../graphql/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import { addressKey } from './client-address.ts';
import { errorResponse } from './error-response.ts';
import type { RateLimiter } from './rate-limit/limiter.ts';
import type { BucketPolicy } from './rate-limit/token-bucket.ts';
import { clientOf, type HttpPlugin, type RequestState } from './request-state.ts';

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
 * that all kinds of credentials count alike; bad ones count against the address twice, here and, on any path, as failures.
 */
export function useRateLimit({ limiter, policy, metrics, log }: RateLimitOptions): HttpPlugin {
  const refusals = metrics.counter('rate_limited_total', 'Requests refused with 429.', ['reason']);

  /** Takes a token of the caller. Returns what refuses the request where none is left. */
  async function takeToken(state: RequestState): Promise<ApiError | undefined> {
    const own =
      state.caller !== undefined && isAuthenticated(state.caller) ? state.caller.rateLimit : undefined;
    const { headers, refusal } = await limiter.request(clientOf(state), { ...policy, ...own });
    Object.assign(state.responseHeaders, headers);
    if (refusal !== undefined) refusals.inc({ reason: 'requests' });
    return refusal;
  }

  /** Counts bad credentials, wherever they were tried. Returns what refuses the request: that, or too many of it. */
  async function countFailure({ authenticationError, clientAddress }: RequestState): Promise<unknown> {
    if (!(authenticationError instanceof ApiError && authenticationError.code === 'UNAUTHENTICATED'))
      return authenticationError;
    try {
      await limiter.failure(`address:${addressKey(clientAddress)}`);
      return authenticationError;
    } catch (error) {
      refusals.inc({ reason: 'failures' });
      return error;
    }
  }

  return {
    async onRequest({ url, serverContext: { state }, endResponse }) {
      const limited = LIMITED_PATHS.has(url.pathname);
      const refusal = limited ? await takeToken(state) : undefined;
      if (refusal !== undefined) return endResponse(errorResponse(refusal, state, log));
      if (state.authenticationError !== undefined) {
        const failure = await countFailure(state);
        // Elsewhere the route itself says what bad credentials mean to it.
        if (limited || failure !== state.authenticationError)
          return endResponse(errorResponse(failure, state, log));
      } else if (limited) state.credentialUsed?.();
      return undefined;
    },
  };
}
