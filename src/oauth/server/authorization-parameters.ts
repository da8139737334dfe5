import { audienceOf } from '../tokens/access-token.ts';

/** The only resource that tokens are issued for. The name stays the same if the service moves. */
export const RESOURCE = 'urn:content-graph-api';
/**
 * The library's resume cookie. Browsers never get the library's cookies: we add them to the requests passed
 * to it.
 */
export const RESUME_COOKIE = 'resume';
/** Our own parameters: hashes of the browser and, keyed, of the address that began the authorization. */
export const BROWSER = 'browser';
export const ADDRESS = 'address';

/** Parameters of OpenID Connect that the library rejects where the scope `openid` is not requested. */
const OPENID_PARAMETERS = ['acr_values', 'claims_locales', 'id_token_hint', 'max_age', 'nonce'];

/**
 * Removes the parameters of OpenID Connect, because unknown parameters are ignored (RFC 6749 section 3.1). A parameter
 * that occurs twice stays: the library rejects the request for it.
 */
export function withoutOpenIdParameters(parameters: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams(parameters);
  for (const name of OPENID_PARAMETERS) if (kept.getAll(name).length === 1) kept.delete(name);
  return kept;
}

/**
 * Removes a `resource` that names our only resource (RFC 8707), by any of its names, since it is the default.
 * An empty value counts as absent (RFC 6749 section 3.1). Any other value stays, and is refused later.
 */
export function withoutOwnResource(parameters: URLSearchParams, issuer: string): URLSearchParams {
  const kept = new URLSearchParams(parameters);
  for (const name of ['', RESOURCE, audienceOf(issuer), issuer, `${issuer}/`]) kept.delete('resource', name);
  return kept;
}
