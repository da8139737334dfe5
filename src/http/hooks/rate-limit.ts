import { credentialsFailed, isAuthenticated } from '../../auth/principal.ts';
import type { SecurityLog } from '../../auth/security-log.ts';
import { addressNetwork, formatIpOwner } from '../../platform/ip-address.ts';
import {
  type AddressBucket,
  type AuthenticatedRequest,
  type Counted,
  isSessionAlone,
  NOTHING_COUNTED,
} from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import type { HttpRequest } from '../message.ts';
import type { Bucket, BucketPolicy, Taken } from '../rate-limit/bucket-store.ts';
import { type RateLimiter, wholeSeconds } from '../rate-limit/limiter.ts';
import type { Origins } from './request-checks.ts';

export interface RateLimitOptions {
  readonly limiter: RateLimiter;
  readonly policy: BucketPolicy;
  /** All credentials of an account together get this multiple of one client's limits. */
  readonly accountFactor: number;
  readonly limitsOf: (account: string) => Partial<BucketPolicy> | undefined;
  readonly isFromKnown: Origins['isFromKnown'];
  readonly securityLog: SecurityLog;
}

/** Two formats exist: X-RateLimit fields and draft-ietf-httpapi-ratelimit-headers-10. */
function rateLimitHeaders(
  { remaining, fullAfterMs, policy: { burst, perSecond } }: Taken,
  atMs: number,
): Record<string, string> {
  return {
    'x-ratelimit-limit': String(burst),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(wholeSeconds(atMs + fullAfterMs)),
    ratelimit: `"default";r=${remaining};t=${wholeSeconds(fullAfterMs)}`,
    'ratelimit-policy': `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`,
  };
}

/** A credential has no higher limits than its account. */
const lesserOf = (one: BucketPolicy, other: BucketPolicy): BucketPolicy => ({
  burst: Math.min(one.burst, other.burst),
  perSecond: Math.min(one.perSecond, other.perSecond),
});

/**
 * Every request takes one token before anything of it is parsed. Authentication runs first, so that all kinds of
 * credentials count alike. Invalid credentials count twice against the IP address: here, and as a failure on any
 * path.
 */
export function useRateLimit(options: RateLimitOptions): ServicePlugin {
  const { limiter, policy, accountFactor, limitsOf, isFromKnown, securityLog } = options;

  /** Higher limits of a credential, `own`, also raise the limits of its account (contract: rate limits). */
  const accountPolicy = (own: Partial<BucketPolicy>): BucketPolicy => ({
    burst: accountFactor * Math.max(policy.burst, own.burst ?? 0),
    perSecond: accountFactor * Math.max(policy.perSecond, own.perSecond ?? 0),
  });
  const usualAccountPolicy = accountPolicy({});

  /**
   * Any web page can make the browsers of its visitors send requests without valid credentials. Such requests must
   * not use up other tokens of the IP address, such as the tokens for logins.
   */
  function addressBucket(
    request: HttpRequest,
    { route, credentials }: AuthenticatedRequest,
    kind: AddressBucket,
  ) {
    if (credentialsFailed(credentials)) return 'failed';
    // Applications on other sites send their users to these pages. A page that sends no Referer has the origin
    // "null". So Sec-Fetch-Site decides, which no other site can forge (Fetch Metadata §2.3).
    const isPageVisit =
      route.documentOnly &&
      (request.method === 'GET' || request.headers.get('sec-fetch-site') === 'same-origin');
    return isPageVisit || isFromKnown(request) ? kind : 'cross-site';
  }

  function bucketsOf(
    request: HttpRequest,
    authenticated: AuthenticatedRequest,
    kind: AddressBucket,
  ): [client: Bucket, account?: Bucket] {
    const { caller } = authenticated;
    if (!isAuthenticated(caller)) {
      const name = `${addressBucket(request, authenticated, kind)} of ${formatIpOwner(authenticated.clientAddress)}`;
      return [{ name, policy }];
    }
    const { clientId, userId, rateLimit: own } = caller;
    const limits = limitsOf(userId);
    const buckets = (client: BucketPolicy, account: BucketPolicy): [Bucket, Bucket] => [
      { name: clientId, policy: client },
      { name: userId, policy: account },
    ];
    if (limits !== undefined) {
      const account = { ...accountPolicy(own ?? {}), ...limits };
      return buckets(lesserOf({ ...policy, ...own }, account), account);
    }
    return own === undefined
      ? buckets(policy, usualAccountPolicy)
      : buckets({ ...policy, ...own }, accountPolicy(own));
  }

  async function takeToken(
    request: HttpRequest,
    authenticated: AuthenticatedRequest,
    kind: AddressBucket,
  ): Promise<Counted> {
    const { route, credentials } = authenticated;
    const buckets = bucketsOf(request, authenticated, kind);
    const { taken, atMs, rejection } = await limiter.request(...buckets);
    return {
      // Programs read these fields, and visitors of a page do not.
      headers: route.documentOnly ? {} : rateLimitHeaders(taken, atMs),
      giveBack: credentials.unverifiedSession && (() => limiter.giveBack(...buckets)),
      rejection,
    };
  }

  /** Invalid credentials count on every path. */
  async function countFailure(authenticated: AuthenticatedRequest): Promise<void> {
    const { clientAddress, credentials } = authenticated;
    if (!credentialsFailed(credentials)) return;
    await limiter.credentials.failure(formatIpOwner(clientAddress));
    if (credentials.failed !== undefined) securityLog.failedCredential(authenticated, credentials.failed);
  }

  async function rejectionOf(request: HttpRequest, authenticated: AuthenticatedRequest): Promise<unknown> {
    const { route, credentials, clientAddress } = authenticated;
    // A page that asks for the current user gets no user instead of an error. Session ids are too long to be guessed.
    const asksOnly = isSessionAlone(route.credentials) && credentialsFailed(credentials);
    if (credentials.error === undefined || asksOnly) {
      const address = addressNetwork(clientAddress);
      if (route.bucket !== undefined)
        credentials.used?.({ address, userAgent: request.headers.get('user-agent') });
      return undefined;
    }
    try {
      await countFailure(authenticated);
    } catch (error) {
      return error;
    }
    return route.credentials === 'optional' ? undefined : credentials.error;
  }

  return {
    name: 'rate-limit',
    stages: {
      async limit(request, authenticated) {
        const { bucket } = authenticated.route;
        const counted =
          bucket === undefined ? NOTHING_COUNTED : await takeToken(request, authenticated, bucket);
        if (counted.rejection !== undefined) return counted;
        return { ...counted, rejection: await rejectionOf(request, authenticated) };
      },
      respond(_request, { headers }, { counted }) {
        for (const name in counted.headers) headers.set(name, counted.headers[name] as string);
      },
    },
  };
}
