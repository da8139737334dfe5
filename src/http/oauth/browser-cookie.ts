import { createHash, randomBytes } from 'node:crypto';
import type { HttpRequest } from '../../request/http-message.ts';

/** No other host can set a cookie of this name, a sibling under the same domain neither (RFC 6265bis section 4.1.3.2). */
const NAME = '__Host-oauth_browser';
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';
const RANDOM_BYTES = 32;
const PAIR = new RegExp(`(?:^|;)\\s*${NAME}=([\\w-]{43})\\s*(?:;|$)`);

/** A browser that authorizations are begun in: all of its own, in however many tabs, and nobody else's. */
export interface KnownBrowser {
  /** What is stored of it: the hash of its cookie. */
  readonly hash: string;
  /** The cookie to set, where it had none yet. It goes when the browser is closed. */
  readonly setCookie: string | undefined;
}

const hashOf = (value: string): string => createHash('sha256').update(value).digest('base64url');

/** The hash of the browser that a request comes from; undefined where it has begun nothing here. */
export function browserOf({ headers }: HttpRequest): string | undefined {
  const [, value] = PAIR.exec(headers.get('cookie') ?? '') ?? [];
  return value === undefined ? undefined : hashOf(value);
}

/** The same for one that begins something now. */
export function knownBrowser(request: HttpRequest): KnownBrowser {
  const hash = browserOf(request);
  if (hash !== undefined) return { hash, setCookie: undefined };
  const value = randomBytes(RANDOM_BYTES).toString('base64url');
  return { hash: hashOf(value), setCookie: `${NAME}=${value}; ${ATTRIBUTES}` };
}
