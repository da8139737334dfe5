import type { OutgoingHeaders } from '../../request/http-message.ts';
import { pathOf } from '../../request/url-path.ts';
import type { HttpPlugin } from '../plugin.ts';

/** Responses meant for the caller alone: no cache may store them (contract section 2). */
const PRIVATE_PATH = /^\/(graphql|login|logout|oauth)(\/|$)/;

export interface ResponseHeadersOptions {
  /**
   * Whether some origins get CORS headers. Caches must then keep responses apart by origin (Fetch, section
   * 3.2.5).
   */
  readonly variesByOrigin: boolean;
}

function addVary(headers: OutgoingHeaders, field: string): void {
  const fields = headers.get('vary');
  headers.set('vary', fields == null ? field : `${fields}, ${field}`);
}

/** Sets the headers that every response carries, and those that earlier plugins requested. */
export function useResponseHeaders({ variesByOrigin }: ResponseHeadersOptions): HttpPlugin {
  return {
    onResponse({ request, response: { headers }, state }) {
      if (variesByOrigin) addVary(headers, 'Origin');
      if (PRIVATE_PATH.test(pathOf(request.url)) && !headers.has('etag'))
        headers.set('cache-control', 'no-store');
      headers.set('x-content-type-options', 'nosniff');
      for (const name in state.responseHeaders) headers.set(name, state.responseHeaders[name] as string);
    },
  };
}
