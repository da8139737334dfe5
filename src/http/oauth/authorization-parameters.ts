import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Library } from './library.ts';

/** The one resource that tokens are for, by a name that stays when the service moves. */
export const RESOURCE = 'urn:content-graph-api';
/** The library's cookies, which no browser gets: what it is to know of one it is told with the request. */
export const RESUME_COOKIE = 'resume';
/** Parameters of our own: the hashes of the browser and of the address that an authorization was begun in and from. */
export const BROWSER = 'browser';
export const ADDRESS = 'address';
/** What is stored of an authorization for anybody who asks: of each parameter, and of all as JSON. */
const MAX_PARAMETER_CHARACTERS = 2_048;
const MAX_PARAMETERS_BYTES = 5_000;

/** Throws InvalidRequest, which goes back to the client, where an authorization would take too much room. */
export function checkSizes({ oidc: { params = {} } }: KoaContextWithOIDC, { errors }: Library): void {
  for (const [name, value] of Object.entries(params))
    if (typeof value === 'string' && value.length > MAX_PARAMETER_CHARACTERS)
      throw new errors.InvalidRequest(`${name} must have at most ${MAX_PARAMETER_CHARACTERS} characters`);
  if (Buffer.byteLength(JSON.stringify(params)) > MAX_PARAMETERS_BYTES)
    throw new errors.InvalidRequest(`the parameters must take at most ${MAX_PARAMETERS_BYTES} bytes`);
}
