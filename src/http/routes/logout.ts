import { isAuthenticated, isSession } from '../../auth/principal.ts';
import { CLEAR_SESSION_COOKIE } from '../../auth/session/cookie.ts';
import type { EndSession } from '../../auth/session/store.ts';
import { forbidden } from '../../graphql/errors.ts';
import { credentialsFailed } from '../../request/caller.ts';
import { PlainResponse } from '../../request/http-message.ts';
import type { Answer } from '../../request/request-state.ts';

/**
 * `POST /logout` (contract section 3): ends the request's session and clears its cookie. Succeeds without a
 * session too.
 */
export function logoutAnswer(endSession: EndSession): Answer {
  return async (_request, state) => {
    const { authenticationError, caller, credentialPlace } = state;
    const hasEnded = credentialPlace === 'cookie' && credentialsFailed(state);
    if (authenticationError !== undefined && !hasEnded) throw authenticationError;
    if (isSession(caller)) await endSession(caller.credentialId ?? '', caller.userId);
    else if (isAuthenticated(caller)) throw forbidden('Only sessions can be logged out.');
    // Whoever uses the browser next finds nothing of the account (Clear Site Data, section 3.1).
    const headers = { 'set-cookie': CLEAR_SESSION_COOKIE, 'clear-site-data': '"cache"' };
    return new PlainResponse('', { status: 204, headers });
  };
}
