import type { HttpPlugin } from '../plugin.ts';

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
