const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);
const MAX_LENGTH = 2_000;
/** RFC 8252 section 7.1: a private-use scheme is a domain name in reverse order. */
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/;

/** Whether the URI leads to an app on the user's own device (RFC 8252 section 7). */
export function isNative(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol !== 'https:' && (protocol !== 'http:' || LOOPBACK.has(hostname));
}

/**
 * What is wrong with a redirect URI of a client, worded to follow it in a sentence; undefined if it is valid.
 * Codes travel over it, so it must be https or lead to the user's own device (RFC 9700 section 2.1, RFC 8252
 * section 7).
 */
export function redirectUriProblem(uri: string): string | undefined {
  const parsed = URL.parse(uri);
  if (parsed === null || uri.length > MAX_LENGTH || !/^[\x21-\x7e]+$/.test(uri)) return 'is not a valid URI.';
  const { protocol, hostname, username, password } = parsed;
  if (uri.includes('#')) return 'must not contain a fragment.';
  if (uri.includes('*')) return 'must not contain wildcards: it is compared exactly.';
  if (username !== '' || password !== '') return 'must not contain a user name or password.';
  if (protocol === 'https:')
    return LOOPBACK.has(hostname) ? 'must be http on a loopback address.' : undefined;
  if (protocol === 'http:')
    return LOOPBACK.has(hostname)
      ? undefined
      : 'must be https; http is allowed for 127.0.0.1, [::1] and localhost only.';
  return PRIVATE_USE_SCHEME.test(protocol)
    ? undefined
    : 'must be https, http on a loopback address, or a private-use scheme such as com.example.app.';
}
