import type { IncomingMessage } from 'node:http';
import { memoize } from '../../platform/cache.ts';
import { ApiError } from '../../platform/errors.ts';

/**
 * Needlessly encoded characters (unreserved ones, RFC 3986 section 2.3), stray percent signs, empty segments.
 */
const NOT_NORMAL =
  /%(?:2[dDeE]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]|7[eE]|(?![0-9a-fA-F][0-9a-fA-F]))|\/\//;
const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

const isHost = memoize((host) => HOST.test(host) && URL.canParse(`http://${host}/`));

/** True if the request names one host, as RFC 9112 section 3.2 requires. HTTP/1.0 does not require a host. */
export function namesHost({ httpVersion, headers: { host } }: IncomingMessage): boolean {
  return host === undefined ? httpVersion === '1.0' : isHost(host);
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(\/.*)$/i;

/**
 * Reduces an absolute target, which every server must accept (RFC 9112 section 3.2.2), to its path. A target
 * that names another host than the Host header stays as it is, and is rejected later because it is not a path:
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
export function parseRequestUrl({
  url = '',
  headers: { host = 'localhost' },
}: IncomingMessage): string | undefined {
  const target = originForm(url, host);
  const address = `http://${host}${target}`;
  const end = target.indexOf('?');
  const path = end < 0 ? target : target.slice(0, end);
  if (!path.startsWith('/') || NOT_NORMAL.test(path) || !URL.canParse(address)) return undefined;
  // Rejects whatever URL parsing rewrites: dot segments, backslashes, spaces, fragments.
  return new URL(address).pathname === path ? address : undefined;
}

export function badAddress(): ApiError {
  return new ApiError(
    'BAD_REQUEST',
    'The request must have one host and a normalized path. The path starts with "/", has no ".", ".." or empty segments, and is percent-encoded only where necessary.',
  );
}
