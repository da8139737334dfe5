import { isIP } from 'node:net';
import { type ApiError, forbidden } from '../graphql/errors.ts';
import type { HttpRequest } from './http-message.ts';

/** Refuses a request that another site made a browser send; undefined if it is allowed. */
export type OriginCheck = (request: Pick<HttpRequest, 'headers' | 'url'>) => ApiError | undefined;

/** The origins whose pages may use the service. */
export interface Origins {
  /** Whether pages of an origin may use the service at `url`, the absolute URL of a request. */
  isKnown(origin: string, url: string): boolean;
  /**
   * For requests that are authenticated by cookie and do more than read (contract section 3). Browsers add the
   * cookie by themselves, so the site that initiated the request is checked. A request with neither header does
   * not come from a browser and cannot be this attack.
   */
  readonly check: OriginCheck;
}

export interface OriginsOptions {
  /**
   * The service's own origin. If undefined, the request's Host determines it, as far as that can be trusted.
   */
  readonly publicUrl: string | undefined;
  /** The host name that the service listens on. */
  readonly host: string;
  readonly corsOrigins: readonly string[];
}

/** Requests from the pages of the service, and those a user made directly (Fetch Metadata, section 2.3). */
export const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);
/** Longer origins are not repeated in messages. */
const MAX_SHOWN = 200;

/** Any other DNS name may be another site's, pointed here temporarily (DNS rebinding). */
function isOwnName(hostname: string, host: string): boolean {
  return hostname === host || hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
}

/** How to allow an origin, for whoever runs the service. */
export function howToAllow(origin: string): string {
  const nameable = origin.length <= MAX_SHOWN && /^https?:\/\/[\w.:[\]-]+$/.test(origin);
  return nameable
    ? `Add ${origin} to the setting CORS_ORIGINS, a list separated by commas`
    : 'CORS_ORIGINS can list origins with http or https only: serve the page from one, not from a file or a sandboxed frame';
}

export function createOrigins({ publicUrl, host, corsOrigins }: OriginsOptions): Origins {
  const allowed = new Set(corsOrigins);
  const ownOrigin = (url: string): string | undefined => {
    if (publicUrl !== undefined) return publicUrl;
    const { hostname, origin } = new URL(url);
    return isOwnName(hostname, host) ? origin : undefined;
  };
  const isKnown = (origin: string, url: string) => allowed.has(origin) || origin === ownOrigin(url);
  return {
    isKnown,
    check({ headers, url }) {
      const origin = headers.get('origin');
      if (origin !== null)
        return isKnown(origin, url)
          ? undefined
          : forbidden(`Pages of other origins must not use sessions. ${howToAllow(origin)}.`);
      const site = headers.get('sec-fetch-site');
      if (site === null || OWN_SITES.has(site)) return undefined;
      return forbidden(
        'Pages of other sites must not use sessions, and the browser does not say which one this is. CORS_ORIGINS lists those that may.',
      );
    },
  };
}
