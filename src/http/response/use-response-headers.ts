import type { OutgoingHeaders } from '../../request/http-message.ts';
import { pathOf } from '../../request/url-path.ts';
import type { HttpPlugin } from '../plugin.ts';

/** Answers that are the caller's own: no cache may keep them (contract section 2). */
const PRIVATE_PATH = /^\/(graphql|login|logout|oauth)(\/|$)/;

export interface ResponseHeadersOptions {
  /** Whether some origins get CORS headers: then no cache may give one's answer to another (Fetch, section 3.2.5). */
  readonly variesByOrigin: boolean;
}

function addVary(headers: OutgoingHeaders, field: string): void {
  const fields = headers.get('vary');
  headers.set('vary', fields == null ? field : `${fields}, ${field}`);
}

/** Headers that every response carries, and those that the plugins before have asked for. */
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
