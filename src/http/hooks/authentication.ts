import {
  authenticate,
  CLEAR_SESSION_COOKIE,
  type CredentialParameters,
  type ExtractedCredential,
  extractCredential,
  extractSessionCookie,
  type Malformed,
  type Resolver,
} from '../../auth/authenticate.ts';
import { KeysUnavailableError } from '../../auth/jwt-keys.ts';
import type { Anonymous } from '../../auth/principal.ts';
import { ApiError, forbidden, unauthenticated } from '../../platform/errors.ts';
import {
  type CallerCredentials,
  isSessionAlone,
  type LocatedRequest,
  NO_CREDENTIALS,
  type Route,
  type ScreenedRequest,
} from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import type { HttpRequest, RequestUrl } from '../message.ts';

export interface AuthenticationOptions {
  readonly resolvers: readonly Resolver[];
  /** The caller of a request without credentials. */
  readonly anonymous: Anonymous;
  /** Whether the credentials were protected in transit. Otherwise they are rejected. */
  readonly isSecure: (request: HttpRequest, located: LocatedRequest) => boolean;
  /** Where clients find the issuer of access tokens (RFC 9728); undefined if the service has none. */
  readonly metadataUrl: (() => string) | undefined;
}

/** The WWW-Authenticate value for a failure. RFC 6750 section 3 allows no quotes or backslashes in it. */
function challenge(reason: string): string {
  return `Bearer error="invalid_token", error_description="${reason.replaceAll(/["\\]/g, "'")}"`;
}

/** Routes where an access token counts: their challenges name the metadata of the API (RFC 9728 section 5.1). */
const TAKES_TOKENS: ReadonlySet<Route['credentials']> = new Set(['read', 'with-stream-token', 'required']);

const NO_PARAMETERS: CredentialParameters = { apiKeys: [], streamTokens: [] };
/** What may stand beside a stream token. */
const BESIDE_TOKEN = new Set(['stream_token', 'lastEventId', 'heartbeat']);
const MISPLACED: Malformed = {
  malformed:
    'A stream token can only open its subscription. Send the token with GET, and no other parameters than lastEventId and heartbeat.',
};
const PLAIN_HTTP =
  'Credentials are accepted over HTTPS only. Replace these credentials, because they may have been intercepted.';

function keysUnavailable(cause: unknown): ApiError {
  return new ApiError(
    'SERVICE_UNAVAILABLE',
    'The token cannot be verified, because the keys of its issuer are unavailable. Try again.',
    {
      headers: { 'retry-after': '1' },
      cause,
    },
  );
}

/**
 * Resolves the credentials of a request to its caller, before anything else of it is read. Bad credentials
 * are recorded: the rate limit, which runs next, counts the request and rejects it. A request without
 * credentials goes on, since the operation decides whether it needs any.
 */
export function useAuthentication({
  resolvers,
  anonymous,
  isSecure,
  metadataUrl,
}: AuthenticationOptions): ServicePlugin {
  async function identify(
    extracted: ExtractedCredential | Malformed | undefined,
    screened: ScreenedRequest,
  ): Promise<CallerCredentials> {
    const place = extracted !== undefined && 'place' in extracted ? extracted.place : undefined;
    const result = await authenticate(extracted, resolvers, screened);
    if (result.outcome === 'none') return { ...NO_CREDENTIALS, place, caller: anonymous };
    if (result.outcome === 'valid') {
      const { principal: caller, operation: fixedOperation, used, unverifiedSession } = result;
      return { caller, place, unverifiedSession, fixedOperation, used, error: undefined, failed: undefined };
    }
    const error = unauthenticated(result.reason, { 'www-authenticate': challenge(result.reason) });
    return { ...NO_CREDENTIALS, place, error, failed: result };
  }

  /** What a request presents anywhere. */
  function extractFrom(request: HttpRequest, { search, searchParams }: RequestUrl, { credentials }: Route) {
    if (search === '') return extractCredential(request.headers, NO_PARAMETERS);
    const apiKeys = searchParams.getAll('api_key');
    const streamTokens = searchParams.getAll('stream_token');
    const extracted = extractCredential(request.headers, { apiKeys, streamTokens });
    if (streamTokens.length === 0) return extracted;
    const isPlaced =
      request.method === 'GET' &&
      credentials === 'with-stream-token' &&
      [...searchParams.keys()].every((name) => BESIDE_TOKEN.has(name));
    return isPlaced ? extracted : MISPLACED;
  }

  /** What counts of it. */
  function effective(
    extracted: ExtractedCredential | Malformed | undefined,
    { method, headers }: HttpRequest,
    { credentials }: Route,
  ) {
    if (credentials === 'session-of-get' && method === 'POST') return undefined;
    if (isSessionAlone(credentials)) return extractSessionCookie(headers);
    return credentials === 'own' ? undefined : extracted;
  }

  return {
    name: 'authentication',
    stages: {
      async authenticate(request, screened, url) {
        const { route, screening } = screened;
        if (route.credentials === 'ignored') return NO_CREDENTIALS;
        if (screening !== undefined) return { ...NO_CREDENTIALS, error: screening };
        const extracted = extractFrom(request, url, route);
        if ((extracted !== undefined || route.needsTls) && !isSecure(request, screened))
          return { ...NO_CREDENTIALS, error: forbidden(PLAIN_HTTP) };
        try {
          return await identify(effective(extracted, request, route), screened);
        } catch (error) {
          return {
            ...NO_CREDENTIALS,
            error: error instanceof KeysUnavailableError ? keysUnavailable(error) : error,
          };
        }
      },
      respond(_request, { status, headers }, { route, credentials }) {
        // Otherwise the browser keeps sending the cookie, and each request counts as a guess.
        if (credentials.failed !== undefined && credentials.place === 'cookie' && !headers.has('set-cookie'))
          headers.set('set-cookie', CLEAR_SESSION_COOKIE);
        if (metadataUrl === undefined || status !== 401 || !TAKES_TOKENS.has(route.credentials)) return;
        const given = headers.get('www-authenticate') ?? 'Bearer';
        const separator = given.includes('=') ? ',' : '';
        headers.set('www-authenticate', `${given}${separator} resource_metadata="${metadataUrl()}"`);
      },
    },
  };
}
