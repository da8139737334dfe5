import { isSessionAlone, type Route } from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import type { CorsOptions } from './cors.ts';

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
