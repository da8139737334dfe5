import { badRequest, bodyTooLarge, checkContentEncoding } from '../../http/request/json-body.ts';
import type { HttpRequest } from '../../request/http-message.ts';
import { audienceOf } from '../tokens/access-token.ts';
import { RESOURCE } from './authorization-parameters.ts';

/** OAuth requests need no more, and the library accepts no more either. */
const MAX_FORM_BYTES = 50_000;

export const FORM_TYPE = 'application/x-www-form-urlencoded';

/** Reads a form body. Throws BAD_REQUEST. */
export async function readForm(request: HttpRequest): Promise<URLSearchParams> {
  checkContentEncoding(request.headers);
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  if (type.trim().toLowerCase() !== FORM_TYPE) throw badRequest(`The body must be "${FORM_TYPE}".`, 400);
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength > MAX_FORM_BYTES) throw bodyTooLarge(MAX_FORM_BYTES);
  return new URLSearchParams(new TextDecoder().decode(bytes));
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
