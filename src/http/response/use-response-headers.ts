import type { HttpPlugin } from '../plugin.ts';

/** Sets the headers that every response carries, and those that earlier plugins requested. */
export function useResponseHeaders(): HttpPlugin {
  return {
    onResponse(_request, { headers }, { route, requestId, responseHeaders }) {
      if (!route.storable && !headers.has('etag')) headers.set('cache-control', 'no-store');
      headers.set('x-content-type-options', 'nosniff');
      headers.set('x-request-id', requestId);
      for (const name in responseHeaders) headers.set(name, responseHeaders[name] as string);
    },
  };
}
