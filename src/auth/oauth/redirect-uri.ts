const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);
const MAX_LENGTH = 2_000;
/** RFC 8252 section 7.1: a scheme of the app's own is a domain name in reverse order. */
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/;

/** Whether the URI leads to an app on the user's own device (RFC 8252 section 7). */
export function isNative(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol !== 'https:' && (protocol !== 'http:' || LOOPBACK.has(hostname));
}

/**
 * What is wrong with a redirect URI of a client, in words that go on from it; undefined where nothing is. Codes travel
 * over it: it is https, or leads to the user's own device (RFC 9700 section 2.1, RFC 8252 section 7).
 */
export function redirectUriProblem(uri: string): string | undefined {
  const parsed = URL.parse(uri);
  if (parsed === null || uri.length > MAX_LENGTH || !/^[\x21-\x7e]+$/.test(uri)) return 'is not an address.';
  const { protocol, hostname, username, password } = parsed;
  if (uri.includes('#')) return 'must not have a fragment.';
  if (uri.includes('*')) return 'must not have wildcards: it is compared as it is.';
  if (username !== '' || password !== '') return 'must not name a user.';
  if (protocol === 'https:')
    return LOOPBACK.has(hostname) ? 'must be http where it leads to this machine.' : undefined;
  if (protocol === 'http:')
    return LOOPBACK.has(hostname)
      ? undefined
      : 'must be https; http is for 127.0.0.1, [::1] and localhost only.';
  return PRIVATE_USE_SCHEME.test(protocol)
    ? undefined
    : 'must be https, http on a loopback address, or a scheme of the app’s own such as com.example.app.';
}
