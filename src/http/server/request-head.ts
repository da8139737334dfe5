import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ApiError } from '../../graphql/errors.ts';
import { remember } from '../../platform/remember.ts';

/** Needlessly encoded characters (RFC 3986 section 2.3: unreserved ones), and a percent sign that encodes nothing. */
const NOT_NORMAL =
  /%(?:2[dDeE]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]|7[eE]|(?![0-9a-fA-F][0-9a-fA-F]))|\/\//;
const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

const isHost = remember((host) => HOST.test(host) && URL.canParse(`http://${host}/`));

/** How often a header field comes: Node keeps the first of several, a proxy in front perhaps the last. */
function occurrences(rawHeaders: readonly string[], lowerCaseName: string): number {
  let found = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) found += 1;
  }
  return found;
}

/** Whether the request names the host as it must (RFC 9112 section 3.2): HTTP/1.0 knows none. */
export function namesHost({ httpVersion, headers: { host }, rawHeaders }: IncomingMessage): boolean {
  if (occurrences(rawHeaders, 'host') > 1) return false;
  return host === undefined ? httpVersion === '1.0' : isHost(host);
}

/**
 * The header fields as Node gives them, but for several Authorization fields: they are joined, as every reader of a list
 * may (RFC 9110 section 5.3), which makes none of them count (contract section 3).
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
 * The target as a path, also of an absolute one, which every server accepts (RFC 9112 section 3.2.2). One that names
 * another host than the Host header is left as it is, and is no path: a proxy in front may have gone by either.
 */
function originForm(url: string, host: string): string {
  const [, authority, path] = ABSOLUTE_FORM.exec(url) ?? [];
  return path !== undefined && authority?.toLowerCase() === host.toLowerCase() ? path : url;
}

/**
 * The address asked for, as a URL; undefined where the target is not a path in normal form (contract section 2). Routes
 * go by the path as a URL has it, while proxies, logs and caches may go by the path as it came: there is one way to
 * write each.
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
  // Dot segments, backslashes, spaces, a fragment: whatever a URL writes in another way.
  return new URL(address).pathname === path ? address : undefined;
}

export function badAddress(): ApiError {
  return new ApiError(
    'BAD_REQUEST',
    'The request must name one host, and a path in normal form: "/", without ".", ".." or empty segments, encoding only what needs it.',
  );
}
