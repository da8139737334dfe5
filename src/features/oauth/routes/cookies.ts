import { hash, randomBytes } from 'node:crypto';
import { cookiesNamed } from '../../../auth/authenticate.ts';
import { type FailedSignIn, tooManyAttempts, WRONG } from '../../../http/html/sign-in.ts';
import type { HttpRequest } from '../../../http/message.ts';

/** No other host can set a cookie with this prefix, not even a sibling domain (RFC 6265bis §4.1.3.2). */
const BROWSER_COOKIE = '__Host-oauth_browser';
const BROWSER_ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';
const RANDOM_BYTES = 32;
const BROWSER_VALUE = /^[\w-]{43}$/;

const hashOf = (value: string): string => hash('sha256', value, 'base64url');

/** @returns undefined if the browser has no identity, or several identity cookies */
export function readBrowserId({ headers }: HttpRequest): string | undefined {
  const [value, ...others] = cookiesNamed(headers.get('cookie'), BROWSER_COOKIE);
  return value === undefined || others.length > 0 || !BROWSER_VALUE.test(value) ? undefined : hashOf(value);
}

/**
 * The cookie expires when the browser is closed. All tabs share one identity, and the database stores only
 * its hash.
 */
export function knownBrowser(request: HttpRequest): { readonly hash: string; readonly setCookie?: string } {
  const hash = readBrowserId(request);
  if (hash !== undefined) return { hash };
  const value = randomBytes(RANDOM_BYTES).toString('base64url');
  return { hash: hashOf(value), setCookie: `${BROWSER_COOKIE}=${value}; ${BROWSER_ATTRIBUTES}` };
}

const REJECTION_COOKIE = '__Host-oauth_refused';
const REJECTION_ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Strict';
/** One minute is enough for a redirect on a slow connection. */
const REJECTION_SECONDS = 60;
/**
 * The value has the seconds to wait (none for a wrong password), the id of the authorization, and the email
 * address.
 */
const REJECTION_VALUE = /^(\d{0,9})\.([\w-]+)\.([\w-]*)$/;

export interface RejectedSignIn {
  readonly email: string;
  readonly failed: FailedSignIn;
}

/**
 * Carries a rejection from the response to the form to the page that shows it. Back and Reload then do not
 * send the form again.
 * @returns undefined for a rejection that would also reject the page
 */
export function createRejectionCookie(uid: string, { email, failed }: RejectedSignIn): string | undefined {
  const asked = failed.status === 429 ? failed.headers?.['retry-after'] : undefined;
  const wait = failed === WRONG ? '' : asked;
  if (wait === undefined) return undefined;
  const value = `${wait}.${uid}.${Buffer.from(email).toString('base64url')}`;
  return `${REJECTION_COOKIE}=${value}; ${REJECTION_ATTRIBUTES}; Max-Age=${REJECTION_SECONDS}`;
}

/** The rejection is shown only once. */
const CLEAR_REJECTION = `${REJECTION_COOKIE}=; ${REJECTION_ATTRIBUTES}; Max-Age=0`;

export function readRejection({ headers }: HttpRequest, uid: string): RejectedSignIn | undefined {
  const [value = '', ...others] = cookiesNamed(headers.get('cookie'), REJECTION_COOKIE);
  const [, wait = '', of, email = ''] = REJECTION_VALUE.exec(value) ?? [];
  if (of !== uid || others.length > 0) return undefined;
  const failed = wait === '' ? WRONG : tooManyAttempts(wait);
  return {
    email: Buffer.from(email, 'base64url').toString(),
    failed: { ...failed, headers: { ...failed.headers, 'set-cookie': CLEAR_REJECTION } },
  };
}
