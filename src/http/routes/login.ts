import { isIP } from 'node:net';
import { CLEAR_SESSION_COOKIE, setSessionCookie } from '../../auth/authenticate.ts';
import { type Login, ownerOf } from '../../auth/login.ts';
import { credentialsFailed, isAuthenticated, isSession } from '../../auth/principal.ts';
import { readConnectionFor } from '../../auth/secrets.ts';
import type { EndSession } from '../../auth/sessions.ts';
import type { Database } from '../../database/database.ts';
import { forbidden, unauthenticated } from '../../platform/errors.ts';
import { isLoopbackHost } from '../../platform/ip-address.ts';
import type { Logger } from '../../platform/log/log.ts';
import { badRequest, isObject, readJsonBody } from '../body.ts';
import type { AdmittedRequest, RouteHandler } from '../exchange.ts';
import { saysTls } from '../hooks/proxy-trust.ts';
import { type HttpRequest, HttpResponse } from '../message.ts';
import { jsonResponse } from '../response/responder.ts';

/** The header tells a page why its login will not last. */
const SESSION_WARNING = 'x-session-warning';

function differ(one: string, other: string): boolean {
  if (one === other) return false;
  const last = (name: string) => name.split('.').slice(-2).join('.');
  return [one, other].some((name) => isLoopbackHost(name) || isIP(name) !== 0) || last(one) !== last(other);
}

/** True if page and service are on different sites, so that SameSite=Strict withholds the cookie. */
function isCrossSite({ headers }: HttpRequest, hostname: string): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'cross-site';
  const origin = headers.get('origin') ?? '';
  return URL.canParse(origin) && differ(new URL(origin).hostname, hostname);
}

function isOverTls({ headers }: HttpRequest, protocol: string): boolean {
  return protocol === 'https:' || saysTls(headers);
}

/**
 * Returns why a browser will drop the session cookie and what to do, or undefined. The cookie is Secure and
 * SameSite=Strict (RFC 6265bis §5.7).
 */
function whyCookieIsDropped(request: HttpRequest): string | undefined {
  const { hostname, protocol, host } = new URL(request.url);
  if (isCrossSite(request, hostname)) {
    const page = request.headers.get('origin') ?? 'the page';
    const advice = isLoopbackHost(hostname)
      ? 'Open the page and the API under the same host name, for example both under localhost.'
      : 'Serve both from one site, or send the requests through a proxy on the origin of the page.';
    return `The browser drops the session cookie, because the cookie is SameSite=Strict and ${page} is another site than ${host}. ${advice}`;
  }
  if (!isOverTls(request, protocol) && !isLoopbackHost(hostname))
    return `The browser drops the session cookie, because the cookie is Secure and http://${host} has no TLS. Use https, or http://localhost.`;
  return undefined;
}

interface LoginRouteOptions {
  readonly login: Login;
  readonly database: Database;
  readonly warns: boolean;
  readonly maxBodyBytes: number;
  readonly log: Logger;
}

async function readCredentials(
  request: HttpRequest,
  maxBodyBytes: number,
): Promise<{ email: string; password: string }> {
  const body = await readJsonBody(request, maxBodyBytes);
  if (!isObject(body)) throw badRequest('The body must be a JSON object.');
  const { email, password } = body;
  if (typeof email !== 'string') throw badRequest('"email" must be a string.');
  if (typeof password !== 'string') throw badRequest('"password" must be a string.');
  return { email, password };
}

/**
 * Handles `POST /login` and `GET /login` (contract: sessions). Pages of other sites may neither log visitors in to
 * another account nor guess passwords from visitors' IP addresses. Each login creates a new session, and a session id
 * in the request is never adopted.
 */
export function createLoginHandler(options: LoginRouteOptions): RouteHandler {
  const { login, database, warns, maxBodyBytes, log } = options;

  /** A revoked or expired session has no user, so that pages may ask without an error. */
  async function whoAmI({ caller }: AdmittedRequest): Promise<HttpResponse> {
    const owner = isSession(caller)
      ? await ownerOf(readConnectionFor(database, caller.userId), caller)
      : undefined;
    return jsonResponse(owner ?? { user: null });
  }

  function warningFor(request: HttpRequest): Record<string, string> {
    const warning = warns ? whyCookieIsDropped(request) : undefined;
    if (warning === undefined) return {};
    log.emit('auth.session_cookie_dropped', { hint: warning });
    return { [SESSION_WARNING]: warning };
  }

  async function logIn(request: HttpRequest, admitted: AdmittedRequest): Promise<HttpResponse> {
    const { email, password } = await readCredentials(request, maxBodyBytes);
    const loggedIn = await login({
      email,
      password,
      origin: admitted,
      userAgent: request.headers.get('user-agent'),
    });
    if (loggedIn === undefined) throw unauthenticated('The email address or the password is wrong.');
    const { user, expiresAt, sessionId } = loggedIn;
    const headers = { ...warningFor(request), 'set-cookie': setSessionCookie(sessionId) };
    return jsonResponse({ user, expiresAt }, { headers });
  }

  return (request, admitted) => (request.method === 'POST' ? logIn(request, admitted) : whoAmI(admitted));
}

/** Handles `POST /logout` (contract: sessions). The request succeeds without a session, too. */
export function createLogoutHandler(endSession: EndSession): RouteHandler {
  return async (_request, { caller, credentials }) => {
    const hasEnded = credentials.place === 'cookie' && credentialsFailed(credentials);
    if (credentials.error !== undefined && !hasEnded) throw credentials.error;
    await endSession(caller);
    if (isAuthenticated(caller) && !isSession(caller))
      throw forbidden('Only a session can be logged out. Revoke an API key with revokeApiKey.');
    // The next user of the browser must find nothing of the account (Clear Site Data §3.1).
    const headers = { 'set-cookie': CLEAR_SESSION_COOKIE, 'clear-site-data': '"cache"' };
    return new HttpResponse('', { status: 204, headers });
  };
}
