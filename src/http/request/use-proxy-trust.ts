import { type Config, isLoopbackHost } from '../../platform/config.ts';
import type { Logger } from '../../platform/log.ts';
import { remember } from '../../platform/remember.ts';
import { clientAddress, proxyTrust } from '../../request/client-address.ts';
import type { HttpRequest, RequestFields } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { OAUTH_ROUTES } from '../oauth/paths.ts';
import type { HttpPlugin } from '../plugin.ts';

/** Requests to these hold credentials, or lead to some, whatever their headers hold. */
export function holdsCredentials(pathname: string): boolean {
  return pathname === '/login' || (pathname.startsWith('/oauth/') && pathname !== OAUTH_ROUTES.jwks.path);
}

/** What the way that a request took says of it. */
export interface ProxyTrust {
  /** Finds out whom a request comes from, before anything looks at that. */
  useProxyTrust(): HttpPlugin;
  /** Whether credentials that came with the request may be used, since nobody else could read them on their way. */
  isSecure(request: HttpRequest, state: RequestState): boolean;
}

/** RFC 6797. Not of subdomains: they may be somebody else's. */
const HSTS = 'max-age=31536000';

/** Whether the name is one that proxies write (RFC 7239 and what was there before it). */
const isForwarding = (name: string) =>
  name.startsWith('x-forwarded') || name === 'forwarded' || name === 'x-real-ip';

/** Whether a proxy has passed the request on, or the client says so. */
function isForwarded(headers: RequestFields): boolean {
  for (const name of headers.keys()) if (isForwarding(name)) return true;
  return false;
}

/** Whether the nearest proxy took the request over TLS: of a list the last entry counts, which that one wrote. */
function saysTls(headers: RequestFields): boolean {
  return headers.get('x-forwarded-proto')?.split(',').at(-1)?.trim().toLowerCase() === 'https';
}

export function createTransport(
  { trustProxy, environment, publicUrl }: Pick<Config, 'trustProxy' | 'environment' | 'publicUrl'>,
  log: Logger,
): ProxyTrust {
  const isTrustedProxy = remember(proxyTrust(trustProxy));
  /** A service on a developer's machine must not have its browser ask all of localhost for TLS. */
  const pins = publicUrl?.startsWith('https:') === true;
  let warned = false;

  function warn(peer: string): void {
    if (warned) return;
    warned = true;
    log.warn(
      { peer },
      'a peer that TRUST_PROXY does not name sends forwarding headers, which count for nothing: if it is your proxy, name it',
    );
  }

  return {
    useProxyTrust: () => ({
      onRequest({ request: { headers }, state }) {
        state.forwarded = isForwarded(headers);
        if (!state.forwarded) return;
        if (isTrustedProxy(state.peerAddress))
          state.clientAddress = clientAddress(
            state.peerAddress,
            headers.get('x-forwarded-for'),
            isTrustedProxy,
          );
        else warn(state.peerAddress);
      },
      onResponse({ request, response, state }) {
        if (pins && saysTls(request.headers) && isTrustedProxy(state.peerAddress))
          response.headers.set('strict-transport-security', HSTS);
      },
    }),
    /**
     * In production a trusted proxy has to say that it took the request over TLS, or the request must never have left
     * this machine (contract section 2). What a proxy has passed on, whoever that is, came from elsewhere (section 9).
     */
    isSecure({ headers }, { peerAddress, forwarded }) {
      if (environment !== 'production') return true;
      return forwarded ? isTrustedProxy(peerAddress) && saysTls(headers) : isLoopbackHost(peerAddress);
    },
  };
}
