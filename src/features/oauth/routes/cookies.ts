import { hash, randomBytes } from 'node:crypto';
import { cookiesNamed } from '../../../auth/authenticate.ts';
import { type FailedSignIn, tooManyAttempts, WRONG } from '../../../http/html/sign-in.ts';
import type { HttpRequest } from '../../../http/message.ts';

/** No other host can set a cookie of this name, not even a sibling domain (RFC 6265bis section 4.1.3.2). */
const BROWSER_COOKIE = '__Host-oauth_browser';
const BROWSER_ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';
const RANDOM_BYTES = 32;
const BROWSER_VALUE = /^[\w-]{43}$/;

const hashOf = (value: string): string => hash('sha256', value, 'base64url');

/** The hash of the requesting browser; undefined if it has begun nothing here, or has several cookies to tell it by. */
export function readBrowserId({ headers }: HttpRequest): string | undefined {
  const [value, ...others] = cookiesNamed(headers.get('cookie'), BROWSER_COOKIE);
  return value === undefined || others.length > 0 || !BROWSER_VALUE.test(value) ? undefined : hashOf(value);
}

/**
 * A browser that begins an authorization now, and the cookie to set if it has none yet. It expires when the browser is
 * closed. All tabs share one identity, and only its hash is stored.
 */
export function knownBrowser(request: HttpRequest): { readonly hash: string; readonly setCookie?: string } {
  const hash = readBrowserId(request);
  if (hash !== undefined) return { hash };
  const value = randomBytes(RANDOM_BYTES).toString('base64url');
  return { hash: hashOf(value), setCookie: `${BROWSER_COOKIE}=${value}; ${BROWSER_ATTRIBUTES}` };
}

/** No other host can set a cookie of this name, not even a sibling domain (RFC 6265bis section 4.1.3.2). */
const REJECTION_COOKIE = '__Host-oauth_refused';
const REJECTION_ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Strict';
/** Long enough for a redirect on a slow line. */
const REJECTION_SECONDS = 60;
/** The seconds to wait, none for a wrong password; the id of the authorization; the e-mail. */
const REJECTION_VALUE = /^(\d{0,9})\.([\w-]+)\.([\w-]*)$/;

/** A sign-in that was rejected, for the page that asks again. */
export interface RejectedSignIn {
  readonly email: string;
  readonly failed: FailedSignIn;
}

/**
 * Carries the rejection from the response to the form to the page that shows it: what a browser goes back to or loads again
 * is no response to a form then, which it would send once more. Undefined for a rejection that another page would meet too.
 */
export function createRejectionCookie(uid: string, { email, failed }: RejectedSignIn): string | undefined {
  const asked = failed.status === 429 ? failed.headers?.['retry-after'] : undefined;
  const wait = failed === WRONG ? '' : asked;
  if (wait === undefined) return undefined;
  const value = `${wait}.${uid}.${Buffer.from(email).toString('base64url')}`;
  return `${REJECTION_COOKIE}=${value}; ${REJECTION_ATTRIBUTES}; Max-Age=${REJECTION_SECONDS}`;
}

/** Deletes the cookie: what has been shown is not shown again. */
export const CLEAR_REJECTION = `${REJECTION_COOKIE}=; ${REJECTION_ATTRIBUTES}; Max-Age=0`;

/** What was rejected in this authorization just now. */
export function readRejection({ headers }: HttpRequest, uid: string): RejectedSignIn | undefined {
  const [value = '', ...others] = cookiesNamed(headers.get('cookie'), REJECTION_COOKIE);
  const [, wait = '', of, email = ''] = REJECTION_VALUE.exec(value) ?? [];
  if (of !== uid || others.length > 0) return undefined;
  const failed = wait === '' ? WRONG : tooManyAttempts(wait);
  return { email: Buffer.from(email, 'base64url').toString(), failed };
}
