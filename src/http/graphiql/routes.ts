import { FileResponse, PlainResponse } from '../../request/http-message.ts';
import { type DemoKey, demoKeyFor, withToken } from '../../request/local-request.ts';
import type { Route } from '../../request/request-state.ts';
import { OPEN, PATHS } from '../routes/table.ts';
import { type Asset, type Assets, loadAssets } from './assets.ts';
import { graphiqlPage } from './page.ts';
import type { Example } from './settings.ts';

export interface GraphiqlOptions {
  /** Operations to try. */
  readonly examples: readonly Example[];
  /** A page to link to. */
  readonly home?: string | undefined;
  /** A key to prefill, for whoever has the printed address. */
  readonly demoKey?: DemoKey | undefined;
}

/** The folder of the page's assets. */
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
  const headers = { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' };
  return new FileResponse(bytes, { headers: Object.entries(headers) });
}

/** GraphiQL for browsers that open GraphQL's path, and the assets of its page. */
export function graphiqlRoutes({
  examples,
  home,
  demoKey,
}: GraphiqlOptions): Record<'page' | 'assets', Route> {
  let loading: Promise<Assets> | undefined;
  const loaded = () => {
    loading ??= loadAssets().catch((error: unknown) => {
      // The next visit tries again.
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return {
    page: {
      ...OPEN,
      path: PATHS.graphql,
      storable: false,
      varies: ['Accept'],
      async answer(_request, state, url) {
        const assets = `${ASSETS}${(await loaded()).hash}/`;
        const demo = demoKeyFor(demoKey, state, url);
        const headers = {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': POLICY,
          'referrer-policy': 'same-origin',
        };
        const homeLink =
          home === undefined || typeof demo !== 'object' ? home : home + withToken(demo.pageToken);
        const page = graphiqlPage({ endpoint: PATHS.graphql, assets, examples, home: homeLink, demo });
        return new PlainResponse(page, { headers });
      },
    },
    assets: {
      ...OPEN,
      path: `${ASSETS}*`,
      async answer(_request, _state, { pathname }) {
        const { hash, files } = await loaded();
        const folder = `${ASSETS}${hash}/`;
        const asset = pathname.startsWith(folder) ? files.get(pathname.slice(folder.length)) : undefined;
        return asset && assetResponse(asset);
      },
    },
  };
}
