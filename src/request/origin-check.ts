import { isIP } from 'node:net';
import { type ApiError, forbidden } from '../graphql/errors.ts';
import type { HttpRequest } from './http-message.ts';

/** The refusal of a request that another site had a browser send; undefined where there is nothing against it. */
export type OriginCheck = (request: HttpRequest) => ApiError | undefined;

export interface OriginCheckOptions {
  /** The own origin; undefined where it is what the request's Host says, as far as that can be believed. */
  readonly publicUrl: string | undefined;
  /** The name that the service listens on. */
  readonly host: string;
  readonly corsOrigins: readonly string[];
}

/** Requests of the service's own pages, and those that a person made by hand (Fetch Metadata, section 2.4). */
const OWN_SITES = new Set(['same-origin', 'none']);

/** A name of the domain name system may be another site's, pointed here for a moment (DNS rebinding). */
function isOwnName(hostname: string, host: string): boolean {
  return hostname === host || hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
}

/**
 * For requests that are authenticated by cookie and do more than read (contract section 3): the browser adds the
 * cookie by itself, so who made it send the request has to be asked for. Neither header: no browser, no such attack.
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
      return forbidden('A page of this origin may not act with the session of its visitor.');
    }
    const site = headers.get('sec-fetch-site');
    if (site === null || OWN_SITES.has(site)) return undefined;
    return forbidden('Another site may not act with the session of its visitor.');
  };
}
