import { isSessionAlone, type Route } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import type { CorsOptions } from './use-cors.ts';

/** The list, with what a plugin or a library has named. */
function withGiven(given: string | null | undefined, list: string): string {
  if (given == null) return list;
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
