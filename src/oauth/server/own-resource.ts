import { audienceOf } from '../tokens/access-token.ts';
import { RESOURCE } from './authorization-parameters.ts';

/**
 * Removes a `resource` that names our only resource (RFC 8707), by any of its names, since it is the default.
 * An empty value counts as absent (RFC 6749 section 3.1). Any other value stays, and is refused later.
 */
export function withoutOwnResource(parameters: URLSearchParams, issuer: string): URLSearchParams {
  const kept = new URLSearchParams(parameters);
  for (const name of ['', RESOURCE, audienceOf(issuer), issuer, `${issuer}/`]) kept.delete('resource', name);
  return kept;
}
