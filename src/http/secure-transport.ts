import { isLoopbackHost } from '../platform/config.ts';
import type { ProxyTrust } from './client-address.ts';
import type { RequestState } from './request-state.ts';

/** The bodies of these hold credentials whatever their headers hold. */
const CREDENTIAL_PATHS = new Set(['/login', '/oauth/token', '/oauth/revoke', '/oauth/introspect']);

export function bodyHoldsCredentials(pathname: string): boolean {
  return CREDENTIAL_PATHS.has(pathname);
}

/**
 * Whether nobody could read the request on its way (contract section 2): a trusted proxy says that it took it over
 * TLS, or it never left this machine. Of a list the last entry counts, which the nearest proxy wrote.
 */
export function arrivedSecurely(
  headers: Headers,
  { peerAddress = '127.0.0.1', clientAddress }: RequestState,
  isTrustedProxy: ProxyTrust,
): boolean {
  const peer = peerAddress.replace(/^::ffff:(?=\d+\.)/i, '');
  const forwarded = isTrustedProxy(peer) ? headers.get('x-forwarded-proto') : null;
  if (forwarded !== null) return forwarded.split(',').at(-1)?.trim().toLowerCase() === 'https';
  return isLoopbackHost(clientAddress.replace(/^::ffff:(?=\d+\.)/i, ''));
}
