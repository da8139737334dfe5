/** The cookie of contract section 3. */
const NAME = 'session_id';
const ATTRIBUTES = 'HttpOnly; Secure; SameSite=Strict; Path=/';

/**
 * The values of the session cookies in a Cookie header (RFC 6265 section 4.2.1). If there are several, a
 * neighbouring host may have planted any of them, and its cookies look the same (section 8.6): none can be
 * trusted.
 */
export function sessionCookies(header: string | null): readonly string[] {
  const values: string[] = [];
  for (const pair of (header ?? '').split(';')) {
    const [name = '', ...value] = pair.split('=');
    if (name.trim() === NAME) values.push(value.join('=').trim());
  }
  return values;
}

/** Sets the cookie until the browser is closed: the server knows when the session ends, not the cookie. */
export function setSessionCookie(id: string): string {
  return `${NAME}=${id}; ${ATTRIBUTES}`;
}

/** Deletes the cookie (RFC 6265 section 3.1). */
export const CLEAR_SESSION_COOKIE = `${NAME}=; ${ATTRIBUTES}; Max-Age=0`;
