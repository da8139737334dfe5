import { FileResponse, PlainResponse } from '../../request/http-message.ts';
import { isLocalVisit } from '../../request/local-request.ts';
import { wantsHtml } from '../../request/media-type.ts';
import type { HttpPlugin } from '../plugin.ts';
import { route } from '../routes/route.ts';
import { type Asset, type Assets, loadAssets } from './assets.ts';
import { graphiqlPage } from './page.ts';

export interface GraphiqlOptions {
  readonly endpoint: string;
  /** A page to link to. */
  readonly home?: string | undefined;
  /** A key to prefill, on pages that only this machine can open. */
  readonly demoKey?: string | undefined;
}

const ASSETS = '/graphiql/';
/** The editor, Monaco, sets styles in script, which no hash can allow. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** An address has the hash of what it stands for, so the response never changes (RFC 8246). */
function assetResponse({ type, bytes }: Asset): FileResponse {
  const headers = {
    'content-type': type,
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
  };
  return new FileResponse(bytes, { headers: Object.entries(headers) });
}

/** GraphiQL for browsers that open the endpoint, and below `/graphiql/` the assets of its page. */
export function useGraphiql({ endpoint, home, demoKey }: GraphiqlOptions): HttpPlugin {
  let loading: Promise<Assets> | undefined;
  const loaded = () => {
    loading ??= loadAssets().catch((error: unknown) => {
      // The next visit tries again.
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return route(
    ({ request: { method, headers }, url: { pathname } }) =>
      pathname === endpoint
        ? method === 'GET' && wantsHtml(headers.get('accept'))
        : pathname.startsWith(ASSETS) && (method === 'GET' || method === 'HEAD'),
    async ({ state, url: { pathname, hostname } }) => {
      const { hash, files } = await loaded();
      const folder = `${ASSETS}${hash}/`;
      if (pathname !== endpoint) {
        const asset = pathname.startsWith(folder) ? files.get(pathname.slice(folder.length)) : undefined;
        return asset && assetResponse(asset);
      }
      const key = isLocalVisit(state, hostname) ? demoKey : undefined;
      return new PlainResponse(graphiqlPage({ endpoint, assets: folder, home, key }), {
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': POLICY,
          vary: 'Accept',
        },
      });
    },
  );
}
