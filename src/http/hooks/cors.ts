import { memoize } from '../../platform/cache.ts';
import type { Logger } from '../../platform/log/log.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import { howToAllow, type Origins } from './request-checks.ts';

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
 * All these fields are allowed in every preflight, so that one preflight covers the next request, too. Browsers send
 * a preflight for each set of fields that is not within the sets they know (Fetch §4.9).
 */
const ALLOWED = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-none-match',
  'last-event-id',
  'x-show-cost',
  'x-request-id',
  'x-show-deprecations',
  'x-show-event-id',
];
/** Chromium caches a preflight for no longer. */
const PREFLIGHT_MAX_AGE_SECONDS = 7_200;

const allowedFields = memoize((requested): string => {
  const others = requested.split(',').map((name) => name.trim().toLowerCase());
  return [...new Set([...ALLOWED, ...others.filter((name) => name !== '')])].join(', ');
});

export interface CorsOptions {
  /** Pages of these origins may send cookies. */
  readonly corsOrigins: readonly string[];
  /** Pages of these origins may read responses to requests without cookies. */
  readonly corsTokenOrigins: readonly string[];
}

export function useCors({ corsOrigins, corsTokenOrigins }: CorsOptions): ServicePlugin {
  const withCookies = new Set(corsOrigins);
  const allowed = new Set([...corsOrigins, ...corsTokenOrigins]);
  return {
    name: 'cors',
    stages: {
      respond({ method, headers: requested }, { headers }, { route }) {
        if (allowed.size === 0) return;
        const origin = requested.get('origin');
        if (origin === null || !allowed.has(origin) || !route.cors) return;
        headers.set('access-control-allow-origin', origin);
        if (withCookies.has(origin)) headers.set('access-control-allow-credentials', 'true');
        headers.set('access-control-expose-headers', EXPOSED);
        if (method !== 'OPTIONS') return;
        headers.set('access-control-allow-methods', route.methods.join(', '));
        headers.set('access-control-max-age', String(PREFLIGHT_MAX_AGE_SECONDS));
        const fields = requested.get('access-control-request-headers');
        if (fields !== null) headers.set('access-control-allow-headers', allowedFields(fields));
      },
    },
  };
}

const MAX_REPORTED = 100;

/**
 * Development logs each origin whose pages cannot read responses. The browser reports such an origin only in the
 * console, without the reason.
 */
export function useOriginReport({ isKnown }: Pick<Origins, 'isKnown'>, log: Logger): ServicePlugin {
  const reported = new Set<string>();
  return {
    name: 'origin-report',
    stages: {
      finish(request, _response, { route }) {
        if (route.documentOnly) return;
        const origin = request.headers.get('origin');
        if (origin === null || reported.has(origin) || reported.size >= MAX_REPORTED) return;
        if (isKnown(origin, request.url) || origin === new URL(request.url).origin) return;
        reported.add(origin);
        log.emit('http.cors_rejected', { origin, hint: howToAllow(origin) });
      },
    },
  };
}
