import { isSession } from '../../auth/principal.ts';
import { readsOf } from '../../auth/reads-of.ts';
import { setSessionCookie } from '../../auth/session/cookie.ts';
import type { Login } from '../../auth/session/login.ts';
import { ownerOf } from '../../auth/session/owner.ts';
import { unauthenticated } from '../../graphql/errors.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Logger } from '../../platform/log.ts';
import { addressKey, attemptOrigin } from '../../request/client-address.ts';
import type { HttpRequest, HttpResponse } from '../../request/http-message.ts';
import type { Answer, RequestState } from '../../request/request-state.ts';
import { badRequest, isObject, readJsonBody } from '../request/json-body.ts';
import { jsonResponse } from '../response/json-response.ts';
import { SESSION_WARNING, whyCookieIsDropped } from './session-warning.ts';

export interface LoginRouteOptions {
  readonly login: Login;
  readonly database: Database;
  /** Whether a login whose cookie the browser will drop is told so. */
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
 * `POST /login` and `GET /login` (contract section 3). Pages of other sites may neither log their visitors in as
 * somebody else nor guess passwords from their visitors' addresses. Each login creates a new session; a session id
 * sent along is never adopted.
 */
export function loginAnswer(options: LoginRouteOptions): Answer {
  const { login, database, warns, maxBodyBytes, log } = options;

  /** Who is logged in. A session that has ended is nobody's: pages may ask without causing an error. */
  async function whoAmI({ caller }: RequestState): Promise<HttpResponse> {
    const owner = isSession(caller) ? await ownerOf(readsOf(database, caller.userId), caller) : undefined;
    return jsonResponse(owner ?? { user: null });
  }

  function warningFor(request: HttpRequest): Record<string, string> {
    const warning = warns ? whyCookieIsDropped(request) : undefined;
    if (warning === undefined) return {};
    log.warn(warning);
    return { [SESSION_WARNING]: warning };
  }

  async function logIn(request: HttpRequest, state: RequestState): Promise<HttpResponse> {
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

  return (request, state) => (request.method === 'POST' ? logIn(request, state) : whoAmI(state));
}
