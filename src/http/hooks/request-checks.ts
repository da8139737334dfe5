import { isIP } from 'node:net';
import { chargedTo } from '../../auth/principal.ts';
import type { Restrictions } from '../../auth/restrictions.ts';
import { type ApiError, addressBlocked, forbidden, tryLater } from '../../platform/errors.ts';
import { eventLoop } from '../../platform/fairness/event-loop.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { badRequest } from '../body.ts';
import type { LocatedRequest } from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import type { HttpRequest } from '../message.ts';

/** Rejects a request that another site made a browser send. Undefined means that the request is allowed. */
export type OriginCheck = (request: BrowserRequest) => ApiError | undefined;
type BrowserRequest = Pick<HttpRequest, 'headers' | 'url'>;

export interface OriginsOptions {
  /** If undefined, the request's Host determines the origin of the service, as far as Host can be trusted. */
  readonly publicUrl: string | undefined;
  readonly host: string;
  readonly corsOrigins: readonly string[];
  readonly corsTokenOrigins: readonly string[];
}

/** The service's pages or the user directly made the request (Fetch Metadata §2.3). */
export const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);
/** Longer origins are not repeated in messages. */
const MAX_SHOWN = 200;

/** Any other DNS name may belong to another site and point here temporarily (DNS rebinding). */
function isOwnName(hostname: string, host: string): boolean {
  return hostname === host || hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
}

const isAllowable = (origin: string): boolean =>
  origin.length <= MAX_SHOWN && /^https?:\/\/[\w.:[\]-]+$/.test(origin);

function sessionsNotAllowed(origin: string): ApiError {
  return forbidden(
    isAllowable(origin)
      ? `Origin ${origin} is not allowed to use sessions. (Operator: add it to CORS_ORIGINS.)`
      : 'The origin of this page cannot use sessions. Serve the page over http or https, not from a file or a sandboxed frame.',
  );
}

export function howToAllow(origin: string): string {
  return isAllowable(origin)
    ? `Add ${origin} to the setting CORS_ORIGINS, a list separated by commas`
    : 'CORS_ORIGINS can list origins with http or https only: serve the page from one, not from a file or a sandboxed frame';
}

const UNKNOWN_SITE =
  'A page of another site, which the browser does not name, cannot use sessions. (Operator: add the origin of the page to CORS_ORIGINS.)';
const NO_ORIGINS: ReadonlySet<string> = new Set();
const OTHER_PAGE = 'This form can only be sent from the page that shows it. Open that page and try again.';

export function createOrigins({ publicUrl, host, corsOrigins, corsTokenOrigins }: OriginsOptions) {
  const trusted = new Set(corsOrigins);
  const readers = new Set([...corsOrigins, ...corsTokenOrigins]);
  const ownOrigin = (url: string): string | undefined => {
    if (publicUrl !== undefined) return publicUrl;
    const { hostname, origin } = new URL(url);
    return isOwnName(hostname, host) ? origin : undefined;
  };
  /** Browsers that send no Origin send the site of the page (Fetch Metadata §2.3). */
  const isOwnSite = (site: string | null) => site === null || OWN_SITES.has(site);
  const isFrom = (listed: ReadonlySet<string>, { headers, url }: BrowserRequest) => {
    const origin = headers.get('origin');
    if (origin === null) return isOwnSite(headers.get('sec-fetch-site'));
    return listed.has(origin) || origin === ownOrigin(url);
  };
  return {
    /** True if pages of an origin may use the service at `url`, an absolute URL. */
    isKnown: (origin: string, url: string): boolean => readers.has(origin) || origin === ownOrigin(url),
    isFromKnown: (request: BrowserRequest): boolean => isFrom(readers, request),
    checkOwn: (request: BrowserRequest) => (isFrom(NO_ORIGINS, request) ? undefined : forbidden(OTHER_PAGE)),
    /**
     * Checks requests that do more than read and are authenticated by cookie (contract: sessions). Browsers add the
     * cookie automatically, so the initiating site is checked. A request with neither header comes from no browser,
     * so it cannot be CSRF.
     */
    check(request: BrowserRequest): ApiError | undefined {
      if (isFrom(trusted, request)) return undefined;
      const origin = request.headers.get('origin');
      return origin === null ? forbidden(UNKNOWN_SITE) : sessionsNotAllowed(origin);
    },
  };
}

export type Origins = ReturnType<typeof createOrigins>;

/** Blocked IP addresses are rejected before their credentials are read. */
export function useIpBlocklist(
  restrictions: Pick<Restrictions, 'blocks' | 'loading'>,
  metrics: Metrics,
): ServicePlugin {
  const rejected = metrics.counter(
    'content_graph_blocked_requests_total',
    'Requests of blocked IP addresses, rejected with 403.',
  );
  function check(located: LocatedRequest): undefined {
    if (!restrictions.blocks(located)) return undefined;
    rejected.inc();
    throw addressBlocked();
  }
  return {
    name: 'ip-blocklist',
    stages: {
      screen(_request, located) {
        if (located.route.probe) return undefined;
        if (restrictions.loading === undefined) return check(located);
        return restrictions.loading.then(() => check(located));
      },
    },
  };
}

/** The check runs before credentials are looked up, so a rejected request changes no cookie and costs no look-up. */
export function useCsrfProtection({ check, checkOwn }: Pick<Origins, 'check' | 'checkOwn'>): ServicePlugin {
  return {
    name: 'csrf-protection',
    stages: {
      screen(request, { route }) {
        const { headers, method } = request;
        const { documentOnly, originCheck, methods } = route;
        // Images and frames on another site's page must neither begin a sign-in nor use up the tokens for pages.
        if (documentOnly && (headers.get('sec-fetch-dest') ?? 'document') !== 'document')
          throw badRequest(
            'This page cannot be shown inside another page. Open it in a separate tab or window.',
          );
        if (method === 'GET' || method === 'HEAD' || !methods.includes(method)) return undefined;
        if (originCheck === 'always') return check(request);
        return originCheck === 'own' ? checkOwn(request) : undefined;
      },
    },
  };
}

/**
 * A request waits for a time slice of the event loop before its body is parsed (decisions/0016-fair-scheduling.md). The stage
 * runs after the rate limit, when the owner is known, and then charges the owner for the body.
 */
export function useFairScheduling(): ServicePlugin {
  return {
    name: 'fair-scheduling',
    stages: {
      schedule(_request, admitted) {
        if (admitted.route.credentials === 'ignored') return undefined;
        const owner = chargedTo(admitted);
        if (admitted.body?.own(owner) === false)
          throw tryLater(
            'RATE_LIMITED',
            'Too many of your requests with large bodies are waiting. Try again.',
          );
        return eventLoop.enter(owner);
      },
    },
  };
}
