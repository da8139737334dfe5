import { hashSecret, matchesSecret } from '../auth/secrets.ts';
import { isLoopbackHost } from '../platform/ip-address.ts';
import type { LocatedRequest } from './exchange.ts';
import type { RequestUrl } from './message.ts';

function isLocal({ forwarded, peerAddress }: LocatedRequest): boolean {
  return !forwarded && isLoopbackHost(peerAddress);
}

/**
 * A page may show a secret of this machine only under a local name. Another site can point its host name at this
 * machine (DNS rebinding).
 */
export function isLocalVisit(located: LocatedRequest, hostname: string): boolean {
  return isLocal(located) && isLoopbackHost(hostname);
}

/** Development pages show the API key. The token is in the URLs that were printed for these pages. */
export interface DemoKey {
  readonly apiKey: string;
  readonly pageToken: string;
}

/** A cookie would be shared by all ports of a host, so the URL has the token. */
export const withToken = (pageToken: string | undefined): string =>
  pageToken === undefined ? '' : `?token=${pageToken}`;

/**
 * Without the token, a page shows nothing, because every user of this machine is local. `hidden` means that the
 * visitor may have the token.
 */
export function demoKeyFor(
  demo: DemoKey | undefined,
  located: LocatedRequest,
  { hostname, searchParams }: RequestUrl,
): DemoKey | 'hidden' | undefined {
  if (demo === undefined || !isLocalVisit(located, hostname)) return undefined;
  return matchesSecret(searchParams.get('token') ?? '', hashSecret(demo.pageToken)) ? demo : 'hidden';
}
