import { CLEAR_SESSION_COOKIE } from '../../auth/session/cookie.ts';
import { ApiError, forbidden } from '../../graphql/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { HttpRequest, HttpResponse } from '../../request/http-message.ts';
import type { OriginCheck } from '../../request/origin-check.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import { badRequest } from '../request/json-body.ts';
import { errorResponse } from '../response/error-response.ts';
import { route } from './route.ts';

const LOGOUT_PATH = '/logout';

export interface LogoutRouteOptions {
  /** Ends a session of an account. */
  readonly endSession: (id: string, userId: string) => Promise<unknown>;
  readonly checkOrigin: OriginCheck;
  readonly log: Logger;
}

/**
 * `POST /logout` (contract section 3): ends the request's session and clears its cookie. Succeeds without a
 * session too.
 */
export function useLogout({ endSession, checkOrigin, log }: LogoutRouteOptions): HttpPlugin {
  async function answer(request: HttpRequest, state: RequestState): Promise<HttpResponse> {
    if (request.method !== 'POST') throw badRequest('Logout accepts POST only.', 405, { allow: 'POST' });
    const byCookie = state.credentialPlace === 'cookie';
    const refusal = byCookie ? checkOrigin(request) : undefined;
    if (refusal !== undefined) throw refusal;
    const { authenticationError, caller } = state;
    const isUnknown =
      authenticationError instanceof ApiError && authenticationError.code === 'UNAUTHENTICATED';
    if (authenticationError !== undefined && !(isUnknown && byCookie)) throw authenticationError;
    if (caller?.kind === 'session') await endSession(caller.credentialId ?? '', caller.userId);
    else if (caller !== undefined && caller.kind !== 'anonymous')
      throw forbidden('Only sessions can be logged out.');
    return new Response(null, { status: 204, headers: { 'set-cookie': CLEAR_SESSION_COOKIE } });
  }

  return route(
    ({ url }) => url.pathname === LOGOUT_PATH,
    ({ request, state }) =>
      answer(request, state).catch((error: unknown) => errorResponse(error, state, log)),
  );
}
