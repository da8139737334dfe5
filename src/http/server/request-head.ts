import type { IncomingMessage } from 'node:http';
import { memoize } from '../../platform/cache.ts';
import { ApiError } from '../../platform/errors.ts';

/**
 * The pattern matches needlessly encoded characters (unreserved characters, RFC 3986 §2.3), stray percent signs and
 * empty segments.
 */
const NOT_NORMAL =
  /%(?:2[dDeE]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]|7[eE]|(?![0-9a-fA-F][0-9a-fA-F]))|\/\//;
const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

const isHost = memoize((host) => HOST.test(host) && URL.canParse(`http://${host}/`));

/** A request must name exactly one host (RFC 9112 §3.2). HTTP/1.0 does not require a host. */
export function namesHost({ httpVersion, headers: { host } }: IncomingMessage): boolean {
  return host === undefined ? httpVersion === '1.0' : isHost(host);
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(\/.*)$/i;

/**
 * Every server must accept an absolute target (RFC 9112 §3.2.2), which is reduced to its path. A target whose host
 * differs from the Host header stays unchanged and is rejected later. A proxy may have used either host.
 */
function originForm(url: string, host: string): string {
  const [, authority, path] = ABSOLUTE_FORM.exec(url) ?? [];
  return path !== undefined && authority?.toLowerCase() === host.toLowerCase() ? path : url;
}

/**
 * Undefined if the target is not a path in normal form (contract: transport). Routes match the path as URL parses it,
 * while proxies, logs and caches may use the raw path. In normal form, both paths are equal.
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
  // URL parsing rewrites dot segments, backslashes, spaces and fragments, so the paths differ.
  return new URL(address).pathname === path ? address : undefined;
}

export function badAddress(): ApiError {
  return new ApiError(
    'BAD_REQUEST',
    'The request must have one host and a normalized path. The path starts with "/", has no ".", ".." or empty segments, and is percent-encoded only where necessary.',
  );
}
