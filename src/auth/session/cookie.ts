/** The cookie of contract section 3. */
export const SESSION_COOKIE = 'session_id';
const ATTRIBUTES = 'HttpOnly; Secure; SameSite=Strict; Path=/';

/** Sets the cookie until the browser is closed: the server knows when the session ends, not the cookie. */
export function setSessionCookie(id: string): string {
  return `${SESSION_COOKIE}=${id}; ${ATTRIBUTES}`;
}

/** Deletes the cookie (RFC 6265 section 3.1). */
export const CLEAR_SESSION_COOKIE = `${SESSION_COOKIE}=; ${ATTRIBUTES}; Max-Age=0`;
