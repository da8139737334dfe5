import { isIP } from 'node:net';
import { isLoopbackHost } from '../../platform/loopback.ts';
import type { HttpRequest } from '../../request/http-message.ts';
import { saysTls } from '../request/proxy-trust.ts';

/** The header that tells a page why its login will not last. */
export const SESSION_WARNING = 'x-session-warning';

/** Whether the two hosts are surely of different sites, as far as their names show it. */
function differ(one: string, other: string): boolean {
  if (one === other) return false;
  const last = (name: string) => name.split('.').slice(-2).join('.');
  return [one, other].some((name) => isLoopbackHost(name) || isIP(name) !== 0) || last(one) !== last(other);
}

/** Whether the page and the service are of different sites, so that SameSite=Strict keeps the cookie out. */
function isCrossSite({ headers }: HttpRequest, hostname: string): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'cross-site';
  const origin = headers.get('origin') ?? '';
  return URL.canParse(origin) && differ(new URL(origin).hostname, hostname);
}

/** Whether the browser reached the service, or the proxy in front of it, over TLS. */
function isOverTls({ headers }: HttpRequest, protocol: string): boolean {
  return protocol === 'https:' || saysTls(headers);
}

/**
 * Why a browser will drop the session cookie that a login sets, and what to do; undefined if it keeps it. The cookie
 * is Secure and SameSite=Strict (RFC 6265bis section 5.7).
 */
export function whyCookieIsDropped(request: HttpRequest): string | undefined {
  const { hostname, protocol, host } = new URL(request.url);
  if (isCrossSite(request, hostname)) {
    const page = request.headers.get('origin') ?? 'the page';
    const advice = isLoopbackHost(hostname)
      ? 'Open the page and the API under the same host name, for example both under localhost.'
      : 'Serve both from one site, or send the requests through a proxy on the origin of the page.';
    return `The browser drops the session cookie: it is SameSite=Strict, and ${page} is another site than ${host}. ${advice}`;
  }
  if (!isOverTls(request, protocol) && !isLoopbackHost(hostname))
    return `The browser drops the session cookie: it is Secure, and http://${host} has no TLS. Use https, or http://localhost.`;
  return undefined;
}
