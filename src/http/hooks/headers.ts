import type { ServicePlugin } from '../lifecycle.ts';

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
