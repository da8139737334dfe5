/** The cookie of contract section 3. Its name is the source's. */
const NAME = 'session_id';
const ATTRIBUTES = 'HttpOnly; Secure; SameSite=Strict; Path=/';

/** The value of the session cookie in a Cookie header (RFC 6265 section 4.2.1); the first, where there are several. */
export function sessionCookie(header: string | null): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [name = '', ...value] = pair.split('=');
    if (name.trim() === NAME) return value.join('=').trim();
  }
  return undefined;
}

/** Sets the cookie for as long as the browser is open: the server knows when the session ends, not the cookie. */
export function setSessionCookie(id: string): string {
  return `${NAME}=${id}; ${ATTRIBUTES}`;
}

/** Takes the cookie away (RFC 6265 section 3.1). */
export const CLEAR_SESSION_COOKIE = `${NAME}=; ${ATTRIBUTES}; Max-Age=0`;
