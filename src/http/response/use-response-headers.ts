import { isSessionAlone, type Route } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import type { CorsOptions } from './use-cors.ts';

/** Sets the headers that every response carries, and those that earlier plugins requested. */
export function useResponseHeaders(): HttpPlugin {
  return {
    onResponse(_request, { status, headers }, { route, requestId, responseHeaders, cacheControl }) {
      if (cacheControl !== undefined) headers.set('cache-control', cacheControl);
      // What is not there may be there soon. A stream has more directives than this one.
      else if ((!route.storable || status === 404) && !headers.get('cache-control')?.startsWith('no-store'))
        headers.set('cache-control', 'no-store');
      headers.set('x-content-type-options', 'nosniff');
      headers.set('x-request-id', requestId);
      for (const name in responseHeaders) headers.set(name, responseHeaders[name] as string);
    },
  };
}

/** Routes where an access token counts. */
const TAKES_TOKENS: ReadonlySet<Route['credentials']> = new Set(['read', 'with-stream-token', 'required']);

/** Names the metadata of the API in challenges for bearer tokens, so that clients find the issuer (RFC 9728 section 5.1). */
export function useResourceMetadata(url: () => string): HttpPlugin {
  return {
    onResponse(_request, { status, headers }, { route }) {
      if (status !== 401 || !TAKES_TOKENS.has(route.credentials)) return;
      const challenge = headers.get('www-authenticate') ?? 'Bearer';
      const separator = challenge.includes('=') ? ',' : '';
      headers.set('www-authenticate', `${challenge}${separator} resource_metadata="${url()}"`);
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
 * The only place that sets Vary (RFC 9110 section 12.5.5). An answer to GET names all that any answer of its route depends
 * on: a cache then finds the same list with each of them. Caches store no answers to other methods, which name what this
 * one depended on. nginx keeps no answer with a list of over 128 characters.
 */
export function useVary({ corsOrigins, corsTokenOrigins }: CorsOptions): HttpPlugin {
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
    onResponse({ method }, { headers }, { route }) {
      const list =
        method === 'GET' || method === 'HEAD'
          ? ofRoute(route)
          : method === 'OPTIONS'
            ? ofPreflight
            : headers.has('content-encoding')
              ? encoded
              : plain;
      if (list !== '') headers.set('vary', withGiven(headers.get('vary'), list));
    },
  };
}
