import { cookiesNamed } from '../../auth/cookies.ts';
import { type FailedSignIn, tooManyAttempts, WRONG } from '../../http/pages/sign-in.ts';
import type { HttpRequest } from '../../request/http-message.ts';

/** No other host can set a cookie of this name, not even a sibling domain (RFC 6265bis section 4.1.3.2). */
const NAME = '__Host-oauth_refused';
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Strict';
/** Long enough for a redirect on a slow line. */
const SECONDS = 60;
/** The seconds to wait, none for a wrong password; the id of the authorization; the e-mail. */
const VALUE = /^(\d{0,9})\.([\w-]+)\.([\w-]*)$/;

/** A sign-in that was refused, for the page that asks again. */
export interface RefusedSignIn {
  readonly email: string;
  readonly failed: FailedSignIn;
}

/**
 * Carries the refusal from the answer to the form to the page that shows it: what a browser goes back to or loads again
 * is no answer to a form then, which it would send once more. Undefined for a refusal that another page would meet too.
 */
export function refusalCookie(uid: string, { email, failed }: RefusedSignIn): string | undefined {
  const asked = failed.status === 429 ? failed.headers?.['retry-after'] : undefined;
  const wait = failed === WRONG ? '' : asked;
  if (wait === undefined) return undefined;
  const value = `${wait}.${uid}.${Buffer.from(email).toString('base64url')}`;
  return `${NAME}=${value}; ${ATTRIBUTES}; Max-Age=${SECONDS}`;
}

/** Deletes the cookie: what has been shown is not shown again. */
export const CLEAR_REFUSAL = `${NAME}=; ${ATTRIBUTES}; Max-Age=0`;

/** What was refused in this authorization just now. */
export function refusalIn({ headers }: HttpRequest, uid: string): RefusedSignIn | undefined {
  const [value = '', ...others] = cookiesNamed(headers.get('cookie'), NAME);
  const [, wait = '', of, email = ''] = VALUE.exec(value) ?? [];
  if (of !== uid || others.length > 0) return undefined;
  const failed = wait === '' ? WRONG : tooManyAttempts(wait);
  return { email: Buffer.from(email, 'base64url').toString(), failed };
}
