import { hash, randomBytes } from 'node:crypto';
import { cookiesNamed } from '../../auth/cookies.ts';
import type { HttpRequest } from '../../request/http-message.ts';

/** No other host can set a cookie of this name, not even a sibling domain (RFC 6265bis section 4.1.3.2). */
const NAME = '__Host-oauth_browser';
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';
const RANDOM_BYTES = 32;
const VALUE = /^[\w-]{43}$/;

const hashOf = (value: string): string => hash('sha256', value, 'base64url');

/** The hash of the requesting browser; undefined if it has begun nothing here, or has several cookies to tell it by. */
export function browserOf({ headers }: HttpRequest): string | undefined {
  const [value, ...others] = cookiesNamed(headers.get('cookie'), NAME);
  return value === undefined || others.length > 0 || !VALUE.test(value) ? undefined : hashOf(value);
}

/**
 * A browser that begins an authorization now, and the cookie to set if it has none yet. It expires when the browser is
 * closed. All tabs share one identity, and only its hash is stored.
 */
export function knownBrowser(request: HttpRequest): { readonly hash: string; readonly setCookie?: string } {
  const hash = browserOf(request);
  if (hash !== undefined) return { hash };
  const value = randomBytes(RANDOM_BYTES).toString('base64url');
  return { hash: hashOf(value), setCookie: `${NAME}=${value}; ${ATTRIBUTES}` };
}
