import { type Config, isLoopbackHost } from '../platform/config.ts';
import { clientAddress, proxyTrust } from './client-address.ts';
import { OAUTH_ROUTES } from './oauth/paths.ts';
import type { HttpPlugin, RequestState } from './request-state.ts';

/** Requests to these hold credentials, or lead to some, whatever their headers hold. */
export function holdsCredentials(pathname: string): boolean {
  return pathname === '/login' || (pathname.startsWith('/oauth/') && pathname !== OAUTH_ROUTES.jwks.path);
}

/** What the way that a request took says of it. */
export interface Transport {
  /** Finds out whom a request comes from, before anything looks at that. */
  useClientAddress(): HttpPlugin;
  /** Whether credentials that came with the request may be used, since nobody else could read them on their way. */
  isSecure(request: Request, state: RequestState): boolean;
}

export function createTransport({
  trustProxy,
  environment,
}: Pick<Config, 'trustProxy' | 'environment'>): Transport {
  const isTrustedProxy = proxyTrust(trustProxy);
  return {
    useClientAddress: () => ({
      onRequest({ request, serverContext: { state } }) {
        const forwardedFor = request.headers.get('x-forwarded-for');
        if (forwardedFor !== null)
          state.clientAddress = clientAddress(state.clientAddress, forwardedFor, isTrustedProxy);
      },
    }),
    /**
     * In production a trusted proxy has to say that it took the request over TLS, or it must never have left this
     * machine (contract section 2). Of a list the last entry counts, which the nearest proxy wrote.
     */
    isSecure({ headers }, { peerAddress, clientAddress: address }) {
      if (environment !== 'production') return true;
      const forwarded = isTrustedProxy(peerAddress) ? headers.get('x-forwarded-proto') : null;
      if (forwarded !== null) return forwarded.split(',').at(-1)?.trim().toLowerCase() === 'https';
      return isLoopbackHost(address);
    },
  };
}
