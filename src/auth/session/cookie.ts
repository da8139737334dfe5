/** The cookie of contract section 3. Its name is the source's. */
const NAME = 'session_id';
const ATTRIBUTES = 'HttpOnly; Secure; SameSite=Strict; Path=/';

/**
 * The values of the session cookies in a Cookie header (RFC 6265 section 4.2.1). Of several any may have been planted by
 * a neighbouring host, whose cookies look no different (section 8.6): none of them can be believed.
 */
export function sessionCookies(header: string | null): readonly string[] {
  const values: string[] = [];
  for (const pair of (header ?? '').split(';')) {
    const [name = '', ...value] = pair.split('=');
    if (name.trim() === NAME) values.push(value.join('=').trim());
  }
  return values;
}

/** Sets the cookie for as long as the browser is open: the server knows when the session ends, not the cookie. */
export function setSessionCookie(id: string): string {
  return `${NAME}=${id}; ${ATTRIBUTES}`;
}

/** Takes the cookie away (RFC 6265 section 3.1). */
export const CLEAR_SESSION_COOKIE = `${NAME}=; ${ATTRIBUTES}; Max-Age=0`;
