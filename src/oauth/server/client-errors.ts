import type { EventEmitter } from 'node:events';
import type { KoaContextWithOIDC, default as Provider } from 'oidc-provider';

interface Named {
  readonly error: string;
  readonly error_description?: string | undefined;
}

const NOT_ITS_GRANT = 'requested grant type is not allowed for this client';
/** Missing or malformed authentication: RFC 6749 section 5.2 calls both invalid_client. */
const NOT_AUTHENTICATED: ReadonlySet<string | undefined> = new Set([
  'no client authentication mechanism provided',
  'invalid authorization header value format',
  'client_id and client_secret in the authorization header are not properly encoded',
  'client_secret must be provided in the Authorization header',
]);

const EVENTS = ['grant.error', 'revocation.error', 'introspection.error'] as const;

/** RFC 6749 section 5.2 has specific codes for what the library reports as an invalid request. */
function nameOf({ error, error_description }: Named): string {
  if (error_description === NOT_ITS_GRANT) return 'unauthorized_client';
  return NOT_AUTHENTICATED.has(error_description) ? 'invalid_client' : error;
}

/** RFC 9110 section 15.5.2: a 401 needs a challenge. */
export const basicChallenge = (issuer: string) => `Basic realm="${issuer}", error="invalid_client"`;

/** Makes a provider report errors by the codes of RFC 6749. */
export function nameClientErrors(provider: Provider): void {
  const rename = (ctx: KoaContextWithOIDC, error: Named) => {
    const name = nameOf(error);
    const { error_description } = error;
    if (name !== error.error) ctx.body = { error: name, error_description };
    if (name !== 'invalid_client') return;
    ctx.status = 401;
    ctx.set('www-authenticate', basicChallenge(provider.issuer));
  };
  for (const event of EVENTS) (provider as EventEmitter).on(event, rename);
}
