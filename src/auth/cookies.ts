/** What tokens are made of (RFC 9110 section 5.6.2), the names of cookies among them. */
const TOKEN_CHARACTER = /[\w!#$%&'*+.^`|~-]/;

/** `text` without the characters at its ends that are not `inner`. In linear time, unlike an expression with `+$`. */
function strip(text: string, inner: (character: string) => boolean): string {
  let [start, end] = [0, text.length];
  while (start < end && !inner(text.charAt(start))) start += 1;
  while (end > start && !inner(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const withoutSpace = (text: string) => strip(text, (character) => character !== ' ' && character !== '\t');
const bareName = (text: string) => strip(text, (character) => TOKEN_CHARACTER.test(character));

/**
 * The values of the cookies named `name` in a Cookie header (RFC 6265 section 4.2.1), and those of all that pass for
 * it beside one: names that become it when other characters than space and tab are trimmed, or in other letters. A
 * neighbouring host may set such a cookie where browsers protect the name itself (`__Host-`), and it may have planted
 * any of several (section 8.6): none of them can be trusted. What only passes for it, alone, is another cookie.
 */
export function cookiesNamed(header: string | null, name: string): readonly string[] {
  if (header === null) return [];
  const lower = name.toLowerCase();
  const values: string[] = [];
  let exact = false;
  for (const pair of header.split(';')) {
    const [sent = '', ...value] = pair.split('=');
    if (bareName(sent).toLowerCase() !== lower) continue;
    exact ||= withoutSpace(sent) === name;
    values.push(withoutSpace(value.join('=')));
  }
  return exact ? values : [];
}

/** The cookie of contract section 3. */
export const SESSION_COOKIE = 'session_id';
const SESSION_COOKIE_ATTRIBUTES = 'HttpOnly; Secure; SameSite=Strict; Path=/';

/** Sets the cookie until the browser is closed: the server knows when the session ends, not the cookie. */
export function setSessionCookie(id: string): string {
  return `${SESSION_COOKIE}=${id}; ${SESSION_COOKIE_ATTRIBUTES}`;
}

/** Deletes the cookie (RFC 6265 section 3.1). */
export const CLEAR_SESSION_COOKIE = `${SESSION_COOKIE}=; ${SESSION_COOKIE_ATTRIBUTES}; Max-Age=0`;
