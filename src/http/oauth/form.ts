import { audienceOf } from '../../auth/oauth/access-token.ts';
import { badRequest, bodyTooLarge } from '../json-body.ts';
import { RESOURCE } from './provider.ts';

/** No request of OAuth has more to say; the library takes no more either. */
const MAX_FORM_BYTES = 50_000;

/** The body of a request, which must be a form. Throws BAD_REQUEST. */
export async function readForm(request: Request): Promise<string> {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw badRequest('The body must be "application/x-www-form-urlencoded".', 400);
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength > MAX_FORM_BYTES) throw bodyTooLarge(MAX_FORM_BYTES);
  return new TextDecoder().decode(bytes);
}

/**
 * The parameters without a `resource` that names the one resource there is (RFC 8707), by whichever of its names: it is
 * the default. Another one stays, and is refused.
 */
export function withoutOwnResource(parameters: string, issuer: string): string {
  if (!parameters.includes('resource')) return parameters;
  const parsed = new URLSearchParams(parameters);
  for (const name of [RESOURCE, audienceOf(issuer), issuer, `${issuer}/`]) parsed.delete('resource', name);
  return parsed.toString();
}
