import { memoize } from '../../platform/cache.ts';
import type { Config } from '../../platform/config/config.ts';
import {
  clientAddress,
  createNetworkMatcher,
  isLoopbackHost,
  normaliseAddress,
} from '../../platform/ip-address.ts';
import type { Logger } from '../../platform/log/log.ts';
import type { RequestFields } from '../../platform/request-fields.ts';
import type { LocatedRequest } from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import type { HttpRequest } from '../message.ts';

/** Subdomains may belong to others, so HSTS does not include them (RFC 6797). */
const HSTS = 'max-age=31536000';

const PLAIN_HTTP =
  'Credentials are accepted over HTTPS only. Replace these credentials, because they may have been intercepted.';
const FROM_UNTRUSTED_PEER = `${PLAIN_HTTP} (Operator: if a proxy forwarded the request, add its IP address to TRUST_PROXY.)`;
const NO_PROTOCOL =
  'Credentials are accepted over HTTPS only, and the forwarded request does not say how it was received. (Operator: configure the proxy or the rendering server to send X-Forwarded-Proto.)';

/** Proxies write these headers (RFC 7239 and its predecessors). */
const isForwarding = (name: string) =>
  name.startsWith('x-forwarded') || name === 'forwarded' || name === 'x-real-ip';

function isForwarded(headers: RequestFields): boolean {
  for (const name of headers.keys()) if (isForwarding(name)) return true;
  return false;
}

/** True if the nearest proxy received the request over TLS. That proxy writes the last entry of the list. */
export function saysTls(headers: Pick<RequestFields, 'get'>): boolean {
  return headers.get('x-forwarded-proto')?.split(',').at(-1)?.trim().toLowerCase() === 'https';
}

export function createProxyTrust(
  { trustProxy, environment, publicUrl }: Pick<Config, 'trustProxy' | 'environment' | 'publicUrl'>,
  log: Logger,
) {
  const isTrustedProxy = memoize(createNetworkMatcher(trustProxy));
  /** HSTS on a developer's machine would make the browser require TLS for all of localhost. */
  const pins = publicUrl?.startsWith('https:') === true;
  let warned = false;

  function warn(peer: string): void {
    if (warned) return;
    warned = true;
    log.emit('http.proxy_untrusted', { peer });
  }

  return {
    isTrustedPeer: (address: string): boolean => isTrustedProxy(normaliseAddress(address)),
    useProxyTrust: (): ServicePlugin => ({
      name: 'proxy-trust',
      stages: {
        locate({ headers }, { peerAddress }) {
          const forwarded = isForwarded(headers);
          if (forwarded && isTrustedProxy(peerAddress)) {
            const list = headers.get('x-forwarded-for');
            return { clientAddress: clientAddress(peerAddress, list, isTrustedProxy), forwarded };
          }
          if (forwarded) warn(peerAddress);
          return { clientAddress: peerAddress, forwarded };
        },
        respond(request, response, { peerAddress }) {
          if (pins && saysTls(request.headers) && isTrustedProxy(peerAddress))
            response.headers.set('strict-transport-security', HSTS);
        },
      },
    }),
    /**
     * In production, a trusted proxy must report TLS, or the request must never have left this machine (contract:
     * transport). A forwarded request came from elsewhere, regardless of the forwarder.
     * @returns why credentials are rejected, or undefined
     */
    findTransportProblem({ headers }: HttpRequest, { peerAddress, forwarded }: LocatedRequest) {
      if (environment !== 'production') return undefined;
      if (!forwarded) return isLoopbackHost(peerAddress) ? undefined : PLAIN_HTTP;
      if (!isTrustedProxy(peerAddress)) return FROM_UNTRUSTED_PEER;
      if (saysTls(headers)) return undefined;
      return headers.get('x-forwarded-proto') ? PLAIN_HTTP : NO_PROTOCOL;
    },
  };
}

export type ProxyTrust = ReturnType<typeof createProxyTrust>;
