import { memoize } from '../../platform/cache.ts';
import type { Logger } from '../../platform/log/log.ts';
import { isSessionAlone, type Route } from '../exchange.ts';
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

interface CorsOptions {
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

export function useResponseHeaders(): ServicePlugin {
  return {
    name: 'response-headers',
    stages: {
      respond(_request, { status, headers }, { route, requestId, cacheControl }) {
        if (cacheControl !== undefined) headers.set('cache-control', cacheControl);
        // A missing resource may exist soon. A stream has more directives than `no-store`.
        else if ((!route.storable || status === 404) && !headers.get('cache-control')?.startsWith('no-store'))
          headers.set('cache-control', 'no-store');
        headers.set('x-content-type-options', 'nosniff');
        headers.set('x-request-id', requestId);
      },
    },
  };
}

function withGiven(given: string | undefined, list: string): string {
  if (given === undefined) return list;
  const named = list.toLowerCase().split(', ');
  const others = given.split(',').map((field) => field.trim());
  return [list, ...others.filter((field) => !named.includes(field.toLowerCase()))].join(', ');
}

function credentialFields({ credentials }: Route): readonly string[] {
  if (credentials === 'own' || credentials === 'ignored') return [];
  return isSessionAlone(credentials) ? ['Cookie'] : ['Authorization', 'Cookie'];
}

/**
 * No other code sets Vary (RFC 9110 §12.5.5). All GET responses of a route have one list, so that caches find the
 * same list with each response. Other methods are not cached, so their responses list only their own dependencies.
 * nginx caches no response whose list exceeds 128 characters.
 */
export function useVary({ corsOrigins, corsTokenOrigins }: CorsOptions): ServicePlugin {
  // Caches must separate responses by origin (Fetch, "CORS protocol and HTTP caches").
  const origin = corsOrigins.length + corsTokenOrigins.length > 0 ? ['Origin'] : [];
  const lists = new Map<Route, string>();

  function ofRoute(route: Route): string {
    const known = lists.get(route);
    if (known !== undefined) return known;
    const coding = route.compressible ? ['Accept-Encoding'] : [];
    const list = [...origin, ...coding, ...credentialFields(route), ...route.varies].join(', ');
    lists.set(route, list);
    return list;
  }

  const ofPreflight = [...origin, ...(origin.length > 0 ? ['Access-Control-Request-Headers'] : [])].join(
    ', ',
  );
  const encoded = [...origin, 'Accept-Encoding'].join(', ');
  const plain = origin.join(', ');

  return {
    name: 'vary',
    stages: {
      respond({ method }, { headers }, { route }) {
        const list =
          method === 'GET' || method === 'HEAD'
            ? ofRoute(route)
            : method === 'OPTIONS'
              ? ofPreflight
              : headers.has('content-encoding')
                ? encoded
                : plain;
        if (list !== '') headers.set('vary', withGiven(headers.get('vary') ?? undefined, list));
      },
    },
  };
}
