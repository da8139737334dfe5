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
 * What clients send to the service. All of them are allowed whatever a preflight asks for, so that it stands for the
 * next request too: browsers ask once for each set of fields that is not within those they know (Fetch, section 4.9).
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
/** The most that Chromium keeps. */
const PREFLIGHT_MAX_AGE_SECONDS = 7_200;

/** The fields that a preflight asks for, with those that the service knows. */
const allowedFields = memoize((requested): string => {
  const others = requested.split(',').map((name) => name.trim().toLowerCase());
  return [...new Set([...ALLOWED, ...others.filter((name) => name !== '')])].join(', ');
});

interface CorsOptions {
  /** Origins whose pages may send cookies. */
  readonly corsOrigins: readonly string[];
  /** Origins whose pages may read responses to requests without cookies. */
  readonly corsTokenOrigins: readonly string[];
}

/** CORS for the configured origins only. Any other origin gets no CORS headers at all. */
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

/** Limits the memory of what has been reported. */
const MAX_REPORTED = 100;

/**
 * For development: logs each origin once whose pages cannot read the responses. The browser tells only the console
 * of the page, and there not why.
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

/** Sets the headers that every response carries. */
export function useResponseHeaders(): ServicePlugin {
  return {
    name: 'response-headers',
    stages: {
      respond(_request, { status, headers }, { route, requestId, cacheControl }) {
        if (cacheControl !== undefined) headers.set('cache-control', cacheControl);
        // What is not there may be there soon. A stream has more directives than this one.
        else if ((!route.storable || status === 404) && !headers.get('cache-control')?.startsWith('no-store'))
          headers.set('cache-control', 'no-store');
        headers.set('x-content-type-options', 'nosniff');
        headers.set('x-request-id', requestId);
      },
    },
  };
}

/** The list, with what a plugin or a library has named. */
function withGiven(given: string | undefined, list: string): string {
  if (given === undefined) return list;
  const named = list.toLowerCase().split(', ');
  const others = given.split(',').map((field) => field.trim());
  return [list, ...others.filter((field) => !named.includes(field.toLowerCase()))].join(', ');
}

/** The fields in which a route finds who asks. */
function credentialFields({ credentials }: Route): readonly string[] {
  if (credentials === 'own' || credentials === 'ignored') return [];
  return isSessionAlone(credentials) ? ['Cookie'] : ['Authorization', 'Cookie'];
}

/**
 * The only place that sets Vary (RFC 9110 section 12.5.5). A response to GET names all that any response of its route depends
 * on: a cache then finds the same list with each of them. Caches store no responses to other methods, which name what this
 * one depended on. nginx keeps no response with a list of over 128 characters.
 */
export function useVary({ corsOrigins, corsTokenOrigins }: CorsOptions): ServicePlugin {
  // Caches must keep responses apart by origin (Fetch, "CORS protocol and HTTP caches").
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
