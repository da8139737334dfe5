import { setSessionCookie } from '../../auth/session/cookie.ts';
import type { Login } from '../../auth/session/login.ts';
import { forbidden, unauthenticated } from '../../graphql/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { addressKey } from '../../request/client-address.ts';
import type { HttpRequest, HttpResponse } from '../../request/http-message.ts';
import type { OriginCheck } from '../../request/origin-check.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import { badRequest, isObject, readJsonBody } from '../request/json-body.ts';
import { errorResponse, jsonResponse } from '../response/error-response.ts';
import { route } from './route.ts';

export const LOGIN_PATH = '/login';

export interface LoginRouteOptions {
  readonly login: Login;
  readonly maxBodyBytes: number;
  readonly checkOrigin: OriginCheck;
  readonly log: Logger;
}

const FOREIGN_PAGE =
  'A page of another site may not sign its visitor in, unless CORS_ORIGINS names its origin.';

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
 * `POST /login` (contract section 3). A page of another site may neither sign its visitor in as somebody else nor have
 * passwords guessed from the visitor's address. A session id that is sent along is never taken over: each login makes a new
 * one.
 */
export function useLogin({ login, maxBodyBytes, checkOrigin, log }: LoginRouteOptions): HttpPlugin {
  async function answer(request: HttpRequest, state: RequestState): Promise<HttpResponse> {
    if (request.method !== 'POST') throw badRequest('Logging in takes POST.', 405, { allow: 'POST' });
    if (checkOrigin(request) !== undefined) throw forbidden(FOREIGN_PAGE);
    if (state.refusal !== undefined) throw state.refusal;
    const { email, password } = await readCredentials(request, maxBodyBytes);
    const loggedIn = await login({
      email,
      password,
      origin: `address:${addressKey(state.clientAddress)}`,
      userAgent: request.headers.get('user-agent'),
    });
    if (loggedIn === undefined)
      throw unauthenticated('There is no account with this e-mail and this password.', {
        // RFC 9110 section 15.5.2 wants a challenge; for what was sent in a body there is no scheme of its own.
        'www-authenticate': 'Bearer',
      });
    const { user, expiresAt, sessionId } = loggedIn;
    return jsonResponse({ user, expiresAt }, 200, { 'set-cookie': setSessionCookie(sessionId) });
  }

  return route(
    ({ url }) => url.pathname === LOGIN_PATH,
    ({ request, state }) =>
      answer(request, state).catch((error: unknown) => errorResponse(error, state, log)),
  );
}
