import type { Logger } from '../../platform/log.ts';
import { remember } from '../../platform/small-map.ts';
import { howToAllow, type Origins } from '../../request/origin-check.ts';
import type { HttpPlugin } from '../plugin.ts';

const EXPOSED = [
  'ETag',
  'X-Request-Id',
  'X-Event-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'Idempotency-Replayed',
  'X-Session-Warning',
  'Deprecation',
  'Sunset',
].join(', ');
/**
 * What clients send to the service. All of them are allowed whatever a preflight asks for, so that it stands for the
 * next request too: browsers ask once for each set of fields that is not within those they know (Fetch, section 4.9).
 */
const ALLOWED = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-none-match',
  'last-event-id',
  'x-query-cost',
  'x-request-id',
  'x-show-deprecations',
  'x-show-event-id',
];
/** The most that Chromium keeps. */
const PREFLIGHT_MAX_AGE_SECONDS = 7_200;

/** The fields that a preflight asks for, with those that the service knows. */
const allowedFields = remember((asked): string => {
  const others = asked.split(',').map((name) => name.trim().toLowerCase());
  return [...new Set([...ALLOWED, ...others.filter((name) => name !== '')])].join(', ');
});

export interface CorsOptions {
  /** Origins whose pages may send cookies. */
  readonly corsOrigins: readonly string[];
  /** Origins whose pages may read responses to requests without cookies. */
  readonly corsTokenOrigins: readonly string[];
}

/** CORS for the configured origins only. Any other origin gets no CORS headers at all. */
export function useCors({ corsOrigins, corsTokenOrigins }: CorsOptions): HttpPlugin {
  const withCookies = new Set(corsOrigins);
  const allowed = new Set([...corsOrigins, ...corsTokenOrigins]);
  return {
    onResponse({ method, headers: asked }, { headers }, { route }) {
      if (allowed.size === 0) return;
      const origin = asked.get('origin');
      if (origin === null || !allowed.has(origin) || !route.cors) return;
      headers.set('access-control-allow-origin', origin);
      if (withCookies.has(origin)) headers.set('access-control-allow-credentials', 'true');
      headers.set('access-control-expose-headers', EXPOSED);
      if (method !== 'OPTIONS') return;
      headers.set('access-control-allow-methods', route.methods.join(', '));
      headers.set('access-control-max-age', String(PREFLIGHT_MAX_AGE_SECONDS));
      const fields = asked.get('access-control-request-headers');
      if (fields !== null) headers.set('access-control-allow-headers', allowedFields(fields));
    },
  };
}

/** Limits the memory of what has been reported. */
const MAX_REPORTED = 100;

/**
 * For development: logs each origin once whose pages cannot read the responses. The browser tells only the console
 * of the page, and there not why.
 */
export function useOriginReport({ isKnown }: Pick<Origins, 'isKnown'>, log: Logger): HttpPlugin {
  const reported = new Set<string>();
  return {
    onResponse(request, _response, { route }) {
      if (route.documentOnly) return;
      const origin = request.headers.get('origin');
      if (origin === null || reported.has(origin) || reported.size >= MAX_REPORTED) return;
      if (isKnown(origin, request.url) || origin === new URL(request.url).origin) return;
      reported.add(origin);
      log.warn({ origin }, `a page of another origin cannot read the responses. ${howToAllow(origin)}`);
    },
  };
}
