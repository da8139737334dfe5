import { isIP } from 'node:net';
import { type ApiError, forbidden } from '../graphql/errors.ts';
import type { HttpRequest } from './http-message.ts';

/** Refuses a request that another site made a browser send; undefined if it is allowed. */
export type OriginCheck = (request: HttpRequest) => ApiError | undefined;

export interface OriginCheckOptions {
  /**
   * The service's own origin. If undefined, the request's Host determines it, as far as that can be trusted.
   */
  readonly publicUrl: string | undefined;
  /** The host name that the service listens on. */
  readonly host: string;
  readonly corsOrigins: readonly string[];
}

/** Requests from the pages of the service, and those a user made directly (Fetch Metadata, section 2.4). */
const OWN_SITES = new Set(['same-origin', 'none']);

/** Any other DNS name may be another site's, pointed here temporarily (DNS rebinding). */
function isOwnName(hostname: string, host: string): boolean {
  return hostname === host || hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
}

/**
 * For requests that are authenticated by cookie and do more than read (contract section 3). Browsers add the
 * cookie by themselves, so the site that initiated the request is checked. A request with neither header does
 * not come from a browser and cannot be this attack.
 */
export function createOriginCheck({ publicUrl, host, corsOrigins }: OriginCheckOptions): OriginCheck {
  const allowed = new Set(corsOrigins);
  const ownOrigin = (url: string): string | undefined => {
    if (publicUrl !== undefined) return publicUrl;
    const { hostname, origin } = new URL(url);
    return isOwnName(hostname, host) ? origin : undefined;
  };
  return ({ headers, url }) => {
    const origin = headers.get('origin');
    if (origin !== null) {
      if (allowed.has(origin) || origin === ownOrigin(url)) return undefined;
      return forbidden('Pages of this origin are not allowed to use the session.');
    }
    const site = headers.get('sec-fetch-site');
    if (site === null || OWN_SITES.has(site)) return undefined;
    return forbidden('Other sites are not allowed to use the session.');
  };
}
