import { isAuthenticated } from '../../auth/principal.ts';
import type { SecurityLog } from '../../auth/security-log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { clientOf, credentialsFailed } from '../../request/caller.ts';
import { addressKey, attemptOrigin } from '../../request/client-address.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import type { RateLimiter } from './limiter.ts';
import type { Bucket } from './store.ts';
import type { BucketPolicy } from './token-bucket.ts';

export interface RateLimitOptions {
  readonly limiter: RateLimiter;
  readonly policy: BucketPolicy;
  /** All credentials of an account together get this multiple of one client's limits. */
  readonly accountFactor: number;
  readonly metrics: Metrics;
  readonly securityLog: SecurityLog;
}

/**
 * Takes one token per request, whatever its outcome, before anything of it is parsed. Runs after
 * authentication, so that all kinds of credentials count alike. Bad credentials count against the address
 * twice: here, and on any path as a failure.
 */
export function useRateLimit({
  limiter,
  policy,
  accountFactor,
  metrics,
  securityLog,
}: RateLimitOptions): HttpPlugin {
  const refusals = metrics.counter('rate_limited_total', 'Requests refused with 429.', ['reason']);

  /** The limits of an account for a request whose credentials have the limits `own` (contract section 5). */
  const accountPolicy = (own: Partial<BucketPolicy>): BucketPolicy => ({
    burst: accountFactor * Math.max(policy.burst, own.burst ?? 0),
    perSecond: accountFactor * Math.max(policy.perSecond, own.perSecond ?? 0),
  });
  const usualAccountPolicy = accountPolicy({});

  /** The bucket of the caller, and that of its account. */
  function bucketsOf(state: RequestState): [client: Bucket, account?: Bucket] {
    const { caller } = state;
    const name = clientOf(state);
    // Any web page can make a browser send bad keys: they must not use up the tokens for logins from the
    // address.
    if (credentialsFailed(state)) return [{ name: `failed ${name}`, policy }];
    if (!isAuthenticated(caller)) return [{ name, policy }];
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

  /** Takes a token for the caller. Throws RATE_LIMITED if none is left. */
  async function takeToken(state: RequestState): Promise<void> {
    const { headers, refusal } = await limiter.request(...bucketsOf(state));
    Object.assign(state.responseHeaders, headers);
    if (refusal === undefined) return;
    refusals.inc({ reason: 'requests' });
    throw refusal;
  }

  /** Counts bad credentials, on whatever path. Throws RATE_LIMITED if there were too many. */
  async function countFailure(state: RequestState): Promise<void> {
    const { clientAddress, failedCredential } = state;
    if (!credentialsFailed(state)) return;
    try {
      await limiter.credentials.failure(`address:${addressKey(clientAddress)}`);
      if (failedCredential !== undefined)
        securityLog.failedCredential(attemptOrigin(state), failedCredential);
    } catch (error) {
      refusals.inc({ reason: 'failures' });
      throw error;
    }
  }

  return {
    async onRequest(_request, state) {
      const { takesToken, credentials } = state.route;
      if (takesToken) await takeToken(state);
      // A page that asks who is logged in learns that nobody is. Session ids are too long to be guessed.
      const asksOnly = credentials === 'session' && credentialsFailed(state);
      if (state.authenticationError !== undefined && !asksOnly) {
        await countFailure(state);
        if (credentials !== 'optional') throw state.authenticationError;
      } else if (takesToken) state.credentialUsed?.();
    },
  };
}
