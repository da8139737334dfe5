import type { Principal } from '../../auth/principal.ts';
import { setSessionCookie } from '../../auth/session/cookie.ts';
import type { Login } from '../../auth/session/login.ts';
import type { SessionOwner } from '../../auth/session/owner.ts';
import { unauthenticated } from '../../graphql/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { addressKey, attemptOrigin } from '../../request/client-address.ts';
import type { HttpRequest, HttpResponse } from '../../request/http-message.ts';
import type { OriginCheck } from '../../request/origin-check.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import { badRequest, isObject, readJsonBody } from '../request/json-body.ts';
import { errorResponse, jsonResponse } from '../response/error-response.ts';
import { route } from './route.ts';
import { SESSION_WARNING, whyCookieIsDropped } from './session-warning.ts';

export const LOGIN_PATH = '/login';

export interface LoginRouteOptions {
  readonly login: Login;
  readonly ownerOf: (session: Principal) => Promise<SessionOwner | undefined>;
  /** Whether a login whose cookie the browser will drop is told so. */
  readonly warns: boolean;
  readonly maxBodyBytes: number;
  readonly checkOrigin: OriginCheck;
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
 * `POST /login` and `GET /login` (contract section 3). Pages of other sites may neither log their visitors in as
 * somebody else nor guess passwords from their visitors' addresses. Each login creates a new session; a session id
 * sent along is never adopted.
 */
export function useLogin(options: LoginRouteOptions): HttpPlugin {
  const { login, ownerOf, warns, maxBodyBytes, checkOrigin, log } = options;

  /** Who is logged in. A session that has ended is nobody's: pages may ask without causing an error. */
  async function whoAmI({ caller }: RequestState): Promise<HttpResponse> {
    const owner = caller?.kind === 'session' ? await ownerOf(caller) : undefined;
    return jsonResponse(owner ?? { user: null });
  }

  function warningFor(request: HttpRequest): Record<string, string> {
    const warning = warns ? whyCookieIsDropped(request) : undefined;
    if (warning === undefined) return {};
    log.warn(warning);
    return { [SESSION_WARNING]: warning };
  }

  async function logIn(request: HttpRequest, state: RequestState): Promise<HttpResponse> {
    const crossSite = checkOrigin(request);
    if (crossSite !== undefined) throw crossSite;
    if (state.refusal !== undefined) throw state.refusal;
    const { email, password } = await readCredentials(request, maxBodyBytes);
    const loggedIn = await login({
      email,
      password,
      countedFor: `address:${addressKey(state.clientAddress)}`,
      origin: attemptOrigin(state),
      userAgent: request.headers.get('user-agent'),
    });
    if (loggedIn === undefined)
      throw unauthenticated('The e-mail or the password is wrong.', {
        // RFC 9110 section 15.5.2 requires a challenge. No scheme exists for credentials in a body.
        'www-authenticate': 'Bearer',
      });
    const { user, expiresAt, sessionId } = loggedIn;
    const headers = { ...warningFor(request), 'set-cookie': setSessionCookie(sessionId) };
    return jsonResponse({ user, expiresAt }, 200, headers);
  }

  async function answer(request: HttpRequest, state: RequestState): Promise<HttpResponse> {
    if (request.method === 'POST') return logIn(request, state);
    if (request.method === 'GET' || request.method === 'HEAD') return whoAmI(state);
    throw badRequest('Login accepts GET and POST only.', 405, { allow: 'GET, POST' });
  }

  return route(
    ({ url }) => url.pathname === LOGIN_PATH,
    ({ request, state }) =>
      answer(request, state).catch((error: unknown) => errorResponse(error, state, log)),
  );
}
