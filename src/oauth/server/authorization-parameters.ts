import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Library } from './library.ts';

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
/** Anyone can have an authorization stored. These limit each parameter, and all of them as JSON. */
const MAX_PARAMETER_CHARACTERS = 2_048;
const MAX_PARAMETERS_BYTES = 5_000;

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

/** Throws InvalidRequest, which is sent to the client, if an authorization would take too much space. */
export function checkSizes({ oidc: { params = {} } }: KoaContextWithOIDC, { errors }: Library): void {
  for (const [name, value] of Object.entries(params))
    if (typeof value === 'string' && value.length > MAX_PARAMETER_CHARACTERS)
      throw new errors.InvalidRequest(`${name} must have at most ${MAX_PARAMETER_CHARACTERS} characters`);
  if (Buffer.byteLength(JSON.stringify(params)) > MAX_PARAMETERS_BYTES)
    throw new errors.InvalidRequest(`the parameters must have at most ${MAX_PARAMETERS_BYTES} bytes`);
}
