import { PlainResponse } from '../../request/http-message.ts';
import { STYLE_HASH } from './pages/layout.ts';

export interface PageOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where posting a form of the page may lead in the end. Browsers hold redirects to it too. */
  readonly redirectUri?: string | undefined;
}

const LOOPBACK_TARGETS = 'http://127.0.0.1:* http://localhost:*';

/**
 * Where posting a form may lead, as sources of a Content-Security-Policy. Browsers hold every redirect that follows to
 * them, the application's own included, and where those lead nobody here knows: of the web any address over TLS, and
 * where the application is on the user's own machine anything there.
 */
function formTargets(redirectUri: string): string {
  const { protocol, hostname } = new URL(redirectUri);
  if (protocol === 'https:') return 'https:';
  if (protocol !== 'http:') return `https: ${protocol}`;
  // The grammar of sources has no IPv6 addresses (CSP level 3, section 2.3.1).
  return hostname.startsWith('[') ? 'https: http:' : `https: ${LOOPBACK_TARGETS}`;
}

/** What an HTML page may do: nothing but look as it does and post its forms. It is never shown inside another page. */
function policy(redirectUri: string | undefined): string {
  const targets = redirectUri === undefined ? '' : ` ${formTargets(redirectUri)}`;
  return [
    "default-src 'none'",
    `style-src ${STYLE_HASH}`,
    `form-action 'self'${targets}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

export function pageHeaders(redirectUri?: string): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy(redirectUri),
    'x-frame-options': 'DENY',
    // Not "no-referrer": browsers then leave the Origin out of the forms as well, which is checked.
    'referrer-policy': 'same-origin',
  };
}

export function pageResponse(text: string, { status = 200, headers = {}, redirectUri }: PageOptions = {}) {
  return new PlainResponse(text, { status, headers: { ...pageHeaders(redirectUri), ...headers } });
}
