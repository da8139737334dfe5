import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ApiError } from '../../graphql/errors.ts';
import { remember } from '../../platform/remember.ts';

/**
 * Needlessly encoded characters (unreserved ones, RFC 3986 section 2.3), stray percent signs, empty segments.
 */
const NOT_NORMAL =
  /%(?:2[dDeE]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]|7[eE]|(?![0-9a-fA-F][0-9a-fA-F]))|\/\//;
const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

const isHost = remember((host) => HOST.test(host) && URL.canParse(`http://${host}/`));

/** Counts a header field. Of several, Node keeps the first, but a proxy in front may keep the last. */
function occurrences(rawHeaders: readonly string[], lowerCaseName: string): number {
  let found = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) found += 1;
  }
  return found;
}

/** Whether the request names its host as required (RFC 9112 section 3.2). HTTP/1.0 does not require one. */
export function namesHost({ httpVersion, headers: { host }, rawHeaders }: IncomingMessage): boolean {
  if (occurrences(rawHeaders, 'host') > 1) return false;
  return host === undefined ? httpVersion === '1.0' : isHost(host);
}

/**
 * The header fields as Node parses them, except that several Authorization fields are joined. Any recipient
 * may join fields into a list (RFC 9110 section 5.3), and then none of them counts (contract section 3).
 */
export function fieldsOf({ headers, rawHeaders }: IncomingMessage): IncomingHttpHeaders {
  if (headers.authorization === undefined || occurrences(rawHeaders, 'authorization') === 1) return headers;
  const values = rawHeaders.filter(
    (_, index) => rawHeaders[index - 1]?.toLowerCase() === 'authorization' && index % 2 === 1,
  );
  return { ...headers, authorization: values.join(', ') };
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(\/.*)$/i;

/**
 * Reduces an absolute target, which every server must accept (RFC 9112 section 3.2.2), to its path. A target
 * that names another host than the Host header stays as it is, and is refused later because it is not a path:
 * a proxy in front may have used either host.
 */
function originForm(url: string, host: string): string {
  const [, authority, path] = ABSOLUTE_FORM.exec(url) ?? [];
  return path !== undefined && authority?.toLowerCase() === host.toLowerCase() ? path : url;
}

/**
 * The requested URL; undefined if the target is not a path in normal form (contract section 2). Routes match
 * the path as URL parses it, while proxies, logs and caches may use the raw path. In normal form the two are
 * equal.
 */
export function addressOf({
  url = '',
  headers: { host = 'localhost' },
}: IncomingMessage): string | undefined {
  const target = originForm(url, host);
  const address = `http://${host}${target}`;
  const end = target.indexOf('?');
  const path = end < 0 ? target : target.slice(0, end);
  if (!path.startsWith('/') || NOT_NORMAL.test(path) || !URL.canParse(address)) return undefined;
  // Refuses whatever URL parsing rewrites: dot segments, backslashes, spaces, fragments.
  return new URL(address).pathname === path ? address : undefined;
}

export function badAddress(): ApiError {
  return new ApiError(
    'BAD_REQUEST',
    'The request must name one host and a path in normal form: it starts with "/", has no ".", ".." or empty segments, and is percent-encoded only where necessary.',
  );
}
