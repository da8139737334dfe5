import { timingSafeEqual } from 'node:crypto';
import { isLoopbackHost } from '../platform/ip-address.ts';
import type { LocatedRequest } from './exchange.ts';
import type { RequestUrl } from './message.ts';

/** Whether the request comes directly from this machine, not through a proxy on it. */
function isLocal({ forwarded, peerAddress }: LocatedRequest): boolean {
  return !forwarded && isLoopbackHost(peerAddress);
}

/**
 * Whether a page may show a secret of this machine. Its name must be local too: another site can point a host name at
 * this machine (DNS rebinding).
 */
export function isLocalVisit(located: LocatedRequest, hostname: string): boolean {
  return isLocal(located) && isLoopbackHost(hostname);
}

/** The API key that pages for development show, and the token in the addresses that were printed for it. */
export interface DemoKey {
  readonly apiKey: string;
  readonly pageToken: string;
}

/** The end of an address that shows the key. Not a cookie: all ports of a host share those. */
export const withToken = (pageToken: string | undefined): string =>
  pageToken === undefined ? '' : `?token=${pageToken}`;

/**
 * What a page may show of the key: without its token nothing, for everybody on this machine is local. `hidden` if the
 * visitor may have been given the token.
 */
export function demoKeyFor(
  demo: DemoKey | undefined,
  located: LocatedRequest,
  { hostname, searchParams }: RequestUrl,
): DemoKey | 'hidden' | undefined {
  if (demo === undefined || !isLocalVisit(located, hostname)) return undefined;
  const sent = Buffer.from(searchParams.get('token') ?? '');
  const expected = Buffer.from(demo.pageToken);
  return sent.length === expected.length && timingSafeEqual(sent, expected) ? demo : 'hidden';
}
