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
  NO_CREDENTIALS,
  type Route,
  type ScreenedRequest,
} from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import type { HttpRequest, RequestUrl } from '../message.ts';
import type { ProxyTrust } from './proxy-trust.ts';

export interface AuthenticationOptions {
  readonly resolvers: readonly Resolver[];
  readonly anonymous: Anonymous;
  readonly findTransportProblem: ProxyTrust['findTransportProblem'];
  /** Clients find the issuer of access tokens at this URL (RFC 9728). Undefined if the service has no issuer. */
  readonly metadataUrl: (() => string) | undefined;
}

/** RFC 6750 §3 allows no quotes or backslashes in the reason. */
function challenge(reason: string): string {
  return `Bearer error="invalid_token", error_description="${reason.replaceAll(/["\\]/g, "'")}"`;
}

/** Challenges of routes that accept access tokens name the API's metadata (RFC 9728 §5.1). */
const TAKES_TOKENS: ReadonlySet<Route['credentials']> = new Set(['read', 'with-stream-token', 'required']);

const NO_PARAMETERS: CredentialParameters = { apiKeys: [], streamTokens: [] };
/** Only these parameters may accompany a stream token. */
const STREAM_TOKEN_PARAMETERS = new Set(['stream_token', 'lastEventId', 'heartbeat']);
const MISPLACED: Malformed = {
  malformed:
    'A stream token can only open its subscription. Send the token with GET, and no other parameters than lastEventId and heartbeat.',
};

function keysUnavailable(cause: unknown): ApiError {
  return new ApiError(
    'SERVICE_UNAVAILABLE',
    'The token cannot be verified, because the keys of its issuer are unavailable. Try again.',
    { retryAfterSeconds: 1, cause },
  );
}

/**
 * Credentials are resolved before anything else of the request is read. Invalid credentials are only recorded,
 * because the rate limit counts the request before it rejects. Requests without credentials continue, since the
 * operation decides if credentials are needed.
 */
export function useAuthentication(options: AuthenticationOptions): ServicePlugin {
  const { resolvers, anonymous, findTransportProblem, metadataUrl } = options;

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
    const error = unauthenticated(result.reason, challenge(result.reason));
    return { ...NO_CREDENTIALS, place, error, failed: result };
  }

  function extractFrom(request: HttpRequest, { search, searchParams }: RequestUrl, { credentials }: Route) {
    if (search === '') return extractCredential(request.headers, NO_PARAMETERS);
    const apiKeys = searchParams.getAll('api_key');
    const streamTokens = searchParams.getAll('stream_token');
    const extracted = extractCredential(request.headers, { apiKeys, streamTokens });
    if (streamTokens.length === 0) return extracted;
    const isPlaced =
      request.method === 'GET' &&
      credentials === 'with-stream-token' &&
      [...searchParams.keys()].every((name) => STREAM_TOKEN_PARAMETERS.has(name));
    return isPlaced ? extracted : MISPLACED;
  }

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
        const needsTls = extracted !== undefined || route.needsTls;
        const problem = needsTls ? findTransportProblem(request, screened) : undefined;
        if (problem !== undefined) return { ...NO_CREDENTIALS, error: forbidden(problem) };
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
        // Otherwise the browser would send the cookie again, and each request would count as a guess.
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
