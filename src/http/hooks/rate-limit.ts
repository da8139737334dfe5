import { credentialsFailed, isAuthenticated } from '../../auth/principal.ts';
import type { SecurityLog } from '../../auth/security-log.ts';
import { addressKey, addressNetwork, attemptOrigin } from '../../platform/ip-address.ts';
import { type AddressBucket, isSessionAlone, type RequestState } from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import type { HttpRequest } from '../message.ts';
import type { Bucket, BucketPolicy } from '../rate-limit/bucket-store.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import type { Origins } from './request-checks.ts';

export interface RateLimitOptions {
  readonly limiter: RateLimiter;
  readonly policy: BucketPolicy;
  /** All credentials of an account together get this multiple of one client's limits. */
  readonly accountFactor: number;
  /** The limits that an operator has set for an account; undefined if there are none. */
  readonly limitsOf: (account: string) => Partial<BucketPolicy> | undefined;
  readonly isFromKnown: Origins['isFromKnown'];
  readonly securityLog: SecurityLog;
}

/** No credential has more than its account. */
const lesserOf = (one: BucketPolicy, other: BucketPolicy): BucketPolicy => ({
  burst: Math.min(one.burst, other.burst),
  perSecond: Math.min(one.perSecond, other.perSecond),
});

/**
 * Takes one token per request, whatever its outcome, before anything of it is parsed. Runs after
 * authentication, so that all kinds of credentials count alike. Bad credentials count against the address
 * twice: here, and on any path as a failure.
 */
export function useRateLimit({
  limiter,
  policy,
  accountFactor,
  limitsOf,
  isFromKnown,
  securityLog,
}: RateLimitOptions): ServicePlugin {
  /** The limits of an account for a request whose credentials have the limits `own` (contract section 5). */
  const accountPolicy = (own: Partial<BucketPolicy>): BucketPolicy => ({
    burst: accountFactor * Math.max(policy.burst, own.burst ?? 0),
    perSecond: accountFactor * Math.max(policy.perSecond, own.perSecond ?? 0),
  });
  const usualAccountPolicy = accountPolicy({});

  /**
   * Which bucket of its address a request without valid credentials counts in. Any web page can make the browsers of
   * its visitors send such requests: they must not use up the tokens for the log-ins of the address, nor any others.
   */
  function addressBucket(request: HttpRequest, state: RequestState, kind: AddressBucket) {
    if (credentialsFailed(state)) return 'failed';
    // Applications on other sites send their users to the pages: that is what these are for. A page that sends no Referer has
    // the origin "null", but no page elsewhere can make a browser claim the same origin (Fetch Metadata, section 2.3).
    const isPageVisit =
      state.route.documentOnly &&
      (request.method === 'GET' || request.headers.get('sec-fetch-site') === 'same-origin');
    return isPageVisit || isFromKnown(request) ? kind : 'cross-site';
  }

  /** The bucket of the caller, and that of its account. */
  function bucketsOf(
    request: HttpRequest,
    state: RequestState,
    kind: AddressBucket,
  ): [client: Bucket, account?: Bucket] {
    const { caller } = state;
    if (!isAuthenticated(caller)) {
      const name = `${addressBucket(request, state, kind)} of address:${addressKey(state.clientAddress)}`;
      return [{ name, policy }];
    }
    const { clientId: name, userId: group, rateLimit: own } = caller;
    const limits = limitsOf(group);
    if (limits !== undefined) {
      const account = { ...accountPolicy(own ?? {}), ...limits };
      const client = lesserOf({ ...policy, ...own }, account);
      return [
        { name, group, policy: client },
        { name: group, group, policy: account },
      ];
    }
    return own === undefined
      ? [
          { name, group, policy },
          { name: group, group, policy: usualAccountPolicy },
        ]
      : [
          { name, group, policy: { ...policy, ...own } },
          { name: group, group, policy: accountPolicy(own) },
        ];
  }

  /** Takes a token for the caller. Throws RATE_LIMITED if none is left. */
  async function takeToken(request: HttpRequest, state: RequestState, kind: AddressBucket): Promise<void> {
    const buckets = bucketsOf(request, state, kind);
    const { headers, refusal } = await limiter.request(...buckets);
    // Programs read these. Nobody reads those of a page.
    if (!state.route.documentOnly) Object.assign(state.responseHeaders, headers);
    if (refusal !== undefined) throw refusal;
    if (state.provisional !== undefined) state.giveTokenBack = () => limiter.giveBack(...buckets);
  }

  /** Counts bad credentials, on whatever path. Throws RATE_LIMITED if there were too many. */
  async function countFailure(state: RequestState): Promise<void> {
    const { clientAddress, failedCredential } = state;
    if (!credentialsFailed(state)) return;
    await limiter.credentials.failure(`address:${addressKey(clientAddress)}`);
    if (failedCredential !== undefined) securityLog.failedCredential(attemptOrigin(state), failedCredential);
  }

  return {
    name: 'rate-limit',
    stages: {
      async limit(request, state) {
        const { bucket, credentials } = state.route;
        if (bucket !== undefined) await takeToken(request, state, bucket);
        // A page that asks who is logged in learns that nobody is. Session ids are too long to be guessed.
        const asksOnly = isSessionAlone(credentials) && credentialsFailed(state);
        if (state.authenticationError !== undefined && !asksOnly) {
          await countFailure(state);
          if (credentials !== 'optional') throw state.authenticationError;
        } else if (bucket !== undefined)
          state.credentialUsed?.({
            address: addressNetwork(state.clientAddress),
            userAgent: request.headers.get('user-agent'),
          });
      },
    },
  };
}
