import { authenticate, type CredentialResolver, presentedCredential } from '../auth/authenticate.ts';
import type { Caller } from '../auth/principal.ts';
import type { Scope } from '../auth/scopes.ts';
import { unauthenticated } from '../graphql/errors.ts';
import type { Logger } from '../platform/log.ts';
import { clientAddress, type ProxyTrust } from './client-address.ts';
import { errorResponse } from './error-response.ts';
import type { HttpPlugin } from './request-state.ts';

export interface AuthenticationOptions {
  readonly resolvers: readonly CredentialResolver[];
  /** What callers without credentials may do; none without ANONYMOUS_READ. */
  readonly anonymousScopes: readonly Scope[];
  readonly isTrustedProxy: ProxyTrust;
  readonly log: Logger;
}

/**
 * Turns the credentials of a request into its caller, before anything else is read of it. Bad ones are remembered:
 * the rate limit, which comes next, counts the request and refuses it. None at all go on, since the operation decides
 * whether it needs any.
 */
export function useAuthentication({
  resolvers,
  anonymousScopes,
  isTrustedProxy,
  log,
}: AuthenticationOptions): HttpPlugin {
  const anonymous: Caller = { kind: 'anonymous', scopes: new Set(anonymousScopes) };
  return {
    async onRequest({ request, url, serverContext: { state }, endResponse }) {
      const forwardedFor = request.headers.get('x-forwarded-for');
      if (forwardedFor !== null)
        state.clientAddress = clientAddress(state.clientAddress, forwardedFor, isTrustedProxy);
      try {
        const key = request.url.includes('api_key=') ? url.searchParams.get('api_key') : null;
        const result = await authenticate(presentedCredential(request.headers, key), resolvers);
        if (result.outcome === 'valid') state.caller = result.principal;
        else if (result.outcome === 'none') state.caller = anonymous;
        // RFC 6750 section 3.1.
        else
          state.authenticationError = unauthenticated(result.reason, {
            'www-authenticate': 'Bearer error="invalid_token"',
          });
      } catch (error) {
        endResponse(errorResponse(error, state, log));
      }
    },
  };
}

/** Whether the caller can do anything but look at the schema. */
export function canExecute(caller: Caller | undefined): boolean {
  return caller !== undefined && (caller.kind !== 'anonymous' || caller.scopes.size > 0);
}

/** The refusal of an operation that needs credentials and has none (RFC 6750 section 3: no error code then). */
export function credentialsMissing() {
  return unauthenticated(
    'This needs credentials: an API key as "Authorization: Bearer <key>", for example.',
    { 'www-authenticate': 'Bearer' },
  );
}
