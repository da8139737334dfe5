import type { Route } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';

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
