import { isLoopbackHost } from '../platform/loopback.ts';
import type { RequestState } from './request-state.ts';

/** Whether the request comes directly from this machine, not through a proxy on it. */
export function isLocal({ forwarded, peerAddress }: RequestState): boolean {
  return !forwarded && isLoopbackHost(peerAddress);
}

/**
 * Whether a page may show a secret of this machine. Its name must be local too: another site can point a host name at
 * this machine (DNS rebinding).
 */
export function isLocalVisit(state: RequestState, hostname: string): boolean {
  return isLocal(state) && isLoopbackHost(hostname);
}
