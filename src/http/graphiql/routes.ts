import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { HttpResponse } from '../../request/http-message.ts';
import { type DemoKey, demoKeyFor, withToken } from '../../request/local-request.ts';
import type { Route } from '../../request/request-state.ts';
import { OPEN, PATHS } from '../routes/table.ts';
import { type Example, graphiqlPage } from './page.ts';

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const OWN_FILES = ['page.js', 'tabs.js', 'fetcher.js', 'stream.js', 'status.js', 'loading.css', 'page.css'];

interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The files that the page loads, by name, and a hash of them all. */
interface Assets {
  readonly hash: string;
  readonly files: ReadonlyMap<string, Asset>;
}

const assetOf = (name: string, text: string): Asset => ({
  type: name.endsWith('.css') ? CSS : JAVASCRIPT,
  bytes: Buffer.from(text),
});

async function ownFile(name: string): Promise<[string, string]> {
  return [name, await readFile(new URL(`browser/${name}`, import.meta.url), 'utf8')];
}

/** GraphiQL from its package, nine megabytes, and the files in `browser/`. */
async function loadAssets(): Promise<Assets> {
  // Imported at the first visit: most processes never serve the page.
  const graphiql = await import('@graphql-yoga/render-graphiql/graphiql');
  const texts: [string, string][] = [
    ['graphiql.js', graphiql.js],
    ['graphiql.css', graphiql.css],
    ['editor-worker.js', graphiql.editorWorkerService],
    ['graphql-worker.js', graphiql.graphqlWorker],
    ['json-worker.js', graphiql.jsonWorker],
    ...(await Promise.all(OWN_FILES.map(ownFile))),
  ];
  const hash = createHash('sha256');
  for (const [name, text] of texts) hash.update(name).update(text);
  return {
    hash: hash.digest('base64url').slice(0, 16),
    files: new Map(texts.map(([name, text]) => [name, assetOf(name, text)])),
  };
}

interface GraphiqlOptions {
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
function assetResponse({ type, bytes }: Asset): HttpResponse {
  const headers = { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' };
  return new HttpResponse(bytes, { headers, isFile: true });
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
        return new HttpResponse(page, { headers });
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
