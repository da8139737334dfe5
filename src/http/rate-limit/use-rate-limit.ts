import { isAuthenticated } from '../../auth/principal.ts';
import { ApiError } from '../../graphql/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { clientOf } from '../../request/caller.ts';
import { addressKey } from '../../request/client-address.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import { errorResponse } from '../response/error-response.ts';
import type { RateLimiter } from './limiter.ts';
import type { Bucket } from './store.ts';
import type { BucketPolicy } from './token-bucket.ts';

/** Requests to these take a token each (contract section 5). */
const LIMITED_PATHS = new Set(['/graphql', '/login', '/oauth/token', '/oauth/introspect', '/oauth/revoke']);

export interface RateLimitOptions {
  readonly limiter: RateLimiter;
  readonly policy: BucketPolicy;
  /** How many times the limits of one client all credentials of an account get together. */
  readonly accountFactor: number;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Whether the credentials were looked at and are bad. */
function hasFailed({ authenticationError }: RequestState): boolean {
  return authenticationError instanceof ApiError && authenticationError.code === 'UNAUTHENTICATED';
}

/**
 * One token a request, whatever becomes of it, taken before anything of it is parsed. Comes after authentication, so
 * that all kinds of credentials count alike; bad ones count against the address twice, here and, on any path, as failures.
 */
export function useRateLimit({ limiter, policy, accountFactor, metrics, log }: RateLimitOptions): HttpPlugin {
  const refusals = metrics.counter('rate_limited_total', 'Requests refused with 429.', ['reason']);

  /** What all credentials of an account get together, those in question having the limits `own` (contract section 5). */
  const accountPolicy = (own: Partial<BucketPolicy>): BucketPolicy => ({
    burst: accountFactor * Math.max(policy.burst, own.burst ?? 0),
    perSecond: accountFactor * Math.max(policy.perSecond, own.perSecond ?? 0),
  });
  const usualAccountPolicy = accountPolicy({});

  /** The bucket of the caller, and that of the account behind it. */
  function bucketsOf(state: RequestState): [client: Bucket, account?: Bucket] {
    const { caller } = state;
    const name = clientOf(state);
    // Any web page can have a browser send bad keys: that must not spend what a login from the address needs.
    if (hasFailed(state)) return [{ name: `failed ${name}`, policy }];
    if (caller === undefined || !isAuthenticated(caller)) return [{ name, policy }];
    const { userId, rateLimit: own } = caller;
    return own === undefined
      ? [
          { name, policy },
          { name: userId, policy: usualAccountPolicy },
        ]
      : [
          { name, policy: { ...policy, ...own } },
          { name: userId, policy: accountPolicy(own) },
        ];
  }

  /** Takes a token of the caller. Returns what refuses the request where none is left. */
  async function takeToken(state: RequestState): Promise<ApiError | undefined> {
    const { headers, refusal } = await limiter.request(...bucketsOf(state));
    Object.assign(state.responseHeaders, headers);
    if (refusal !== undefined) refusals.inc({ reason: 'requests' });
    return refusal;
  }

  /** Counts bad credentials, wherever they were tried. Returns what refuses the request: that, or too many of it. */
  async function countFailure(state: RequestState): Promise<unknown> {
    const { authenticationError, clientAddress } = state;
    if (!hasFailed(state)) return authenticationError;
    try {
      await limiter.credentials.failure(`address:${addressKey(clientAddress)}`);
      return authenticationError;
    } catch (error) {
      refusals.inc({ reason: 'failures' });
      return error;
    }
  }

  return {
    async onRequest({ url, state, endResponse }) {
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
