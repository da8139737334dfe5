import {
  authenticate,
  type CredentialResolver,
  type Malformed,
  type Presented,
  presentedCredential,
} from '../../auth/authenticate.ts';
import { KeysUnavailableError } from '../../auth/jwt/keys.ts';
import type { Anonymous } from '../../auth/principal.ts';
import { CLEAR_SESSION_COOKIE } from '../../auth/session/cookie.ts';
import { ApiError, forbidden, unauthenticated } from '../../graphql/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { HttpRequest } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import { holdsCredentials } from './use-proxy-trust.ts';

export interface AuthenticationOptions {
  readonly resolvers: readonly CredentialResolver[];
  /** The caller of a request without credentials. */
  readonly anonymous: Anonymous;
  /** Whether the credentials were protected in transit. Otherwise they are refused. */
  readonly isSecure: (request: HttpRequest, state: RequestState) => boolean;
  /** Paths on which credentials are ignored. */
  readonly ignoredOn: (pathname: string) => boolean;
  readonly log: Logger;
}

/** The WWW-Authenticate value for a failure. RFC 6750 section 3 allows no quotes or backslashes in it. */
function challenge(reason: string): string {
  return `Bearer error="invalid_token", error_description="${reason.replaceAll(/["\\]/g, "'")}"`;
}

const NONE: readonly string[] = [];
const PLAIN_HTTP = 'Credentials are accepted over HTTPS only. Replace these: they may have been intercepted.';

function keysUnavailable(cause: unknown): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', 'The keys to verify the token are currently unavailable.', {
    headers: { 'retry-after': '1' },
    cause,
  });
}

/**
 * Resolves the credentials of a request to its caller, before anything else of it is read. Bad credentials
 * are recorded: the rate limit, which runs next, counts the request and refuses it. A request without
 * credentials goes on, since the operation decides whether it needs any.
 */
export function useAuthentication({
  resolvers,
  anonymous,
  isSecure,
  ignoredOn,
  log,
}: AuthenticationOptions): HttpPlugin {
  async function identify(presented: Presented | Malformed | undefined, state: RequestState) {
    if (presented !== undefined && 'place' in presented) state.credentialPlace = presented.place;
    const result = await authenticate(presented, resolvers);
    if (result.outcome === 'valid') {
      state.caller = result.principal;
      state.credentialUsed = result.used;
    } else if (result.outcome === 'none') state.caller = anonymous;
    else {
      state.authenticationError = unauthenticated(result.reason, {
        'www-authenticate': challenge(result.reason),
      });
      // Otherwise the browser keeps sending the cookie, and each request counts as a guess.
      if (state.credentialPlace === 'cookie') state.responseHeaders['set-cookie'] = CLEAR_SESSION_COOKIE;
    }
  }

  return {
    async onRequest({ request, url, state }) {
      const apiKeys = request.url.includes('?') ? url.searchParams.getAll('api_key') : NONE;
      const presented = presentedCredential(request.headers, apiKeys);
      if ((presented !== undefined || holdsCredentials(url.pathname)) && !isSecure(request, state)) {
        state.authenticationError = forbidden(PLAIN_HTTP);
        return;
      }
      try {
        await identify(ignoredOn(url.pathname) ? undefined : presented, state);
      } catch (error) {
        const cause = error instanceof KeysUnavailableError ? keysUnavailable(error) : error;
        if (error instanceof KeysUnavailableError) log.warn({ err: error }, 'a token could not be verified');
        state.authenticationError = cause;
      }
    },
  };
}
