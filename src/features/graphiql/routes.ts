import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import type { Route } from '../../http/exchange.ts';
import { type Html, html, ICON, MARK } from '../../http/html/page.ts';
import { type DemoKey, demoKeyFor, withToken } from '../../http/local-request.ts';
import { HttpResponse } from '../../http/message.ts';
import { PATHS, PUBLIC_ROUTE } from '../../http/routes/table.ts';

export interface Example {
  /** The name of the operation. GraphiQL shows it as the title of the tab. */
  readonly name: string;
  readonly query: string;
  readonly variables?: string;
}

/** `browser/page.js` reads these settings from the page. */
export interface Settings {
  readonly endpoint: string;
  /** HTML for the corner of the page. */
  readonly title: string;
  /** The content of the headers editor in every tab. */
  readonly headers: string;
  /** The editor that is open below the operation. */
  readonly tool: 'variables' | 'headers';
  readonly examples: readonly Example[];
}

interface GraphiQLPageOptions extends Pick<GraphiqlOptions, 'examples' | 'home'> {
  /** The path of the page's assets, with a trailing slash. */
  readonly assets: string;
  readonly demo: DemoKey | 'hidden' | undefined;
}

const TITLE = 'Content Graph API';

/**
 * Without a key, the header is commented out. GraphiQL would send a placeholder with the schema query too,
 * and the service would reject it.
 */
function headersFor(demo: DemoKey | 'hidden' | undefined): string {
  const lineFor = (key: string) => `"Authorization": "Bearer ${key}"`;
  if (demo === undefined) return `{\n  // ${lineFor('<your API key>')}\n}`;
  if (demo !== 'hidden') return `{\n  ${lineFor(demo.apiKey)}\n}`;
  return `{
  // To have the demo key filled in, open the
  // address that "npm start" prints: it ends
  // in ?token=… Or paste a key here:
  // ${lineFor('<your API key>')}
}`;
}

/** Escapes JSON so that it cannot close its script element (HTML §4.12.1.3). */
function json(value: unknown): Html {
  return { html: JSON.stringify(value).replaceAll('<', '\\u003c') };
}

function graphiqlPage({ assets, examples, home, demo }: GraphiQLPageOptions): string {
  const name = html`${MARK}<span>${TITLE}</span>`;
  const title =
    home === undefined ? name : html`<a href="${home}" aria-label="${TITLE}: start page">${name}</a>`;
  const settings: Settings = {
    endpoint: PATHS.graphql,
    title: title.html,
    headers: headersFor(demo),
    tool: demo === 'hidden' ? 'headers' : 'variables',
    examples,
  };
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphiQL – ${TITLE}</title>
${ICON}
<link rel="stylesheet" href="${assets}loading.css">
<script defer src="${assets}graphiql.js"></script>
<script type="module" src="${assets}page.js"></script>
<script type="application/json" id="settings">${json(settings)}</script>
</head>
<body class="no-focus-outline">
<main>
<h1>GraphiQL: ${TITLE}</h1>
<div id="root"><p class="loading">Loading GraphiQL…</p></div>
<noscript>GraphiQL needs JavaScript.</noscript>
</main>
<footer id="status"><strong role="status"></strong><span class="facts"></span></footer>
<link rel="stylesheet" href="${assets}graphiql.css">
<link rel="stylesheet" href="${assets}page.css">
</body>
</html>
`.html;
}

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const OWN_FILES = ['page.js', 'tabs.js', 'fetcher.js', 'status.js', 'loading.css', 'page.css'];

interface Assets {
  readonly hash: string;
  readonly files: ReadonlyMap<string, Buffer>;
}

/** The page uses the client package, as it is in the repository. */
const CLIENT = new URL('../../../packages/client/src/', import.meta.url);

const BROWSER = new URL('browser/', import.meta.url);

const readText = (folder: URL, name: string) => readFile(new URL(name, folder), 'utf8');

/** GraphiQL takes nine megabytes. */
async function loadAssets(): Promise<Assets> {
  // Most processes never serve the page, so the first visit imports the package.
  const graphiql = await import('@graphql-yoga/render-graphiql/graphiql');
  const clientModules = (await readdir(CLIENT)).filter((name) => name.endsWith('.ts'));
  const texts: (readonly [string, string])[] = [
    ['graphiql.js', graphiql.js],
    ['graphiql.css', graphiql.css],
    ['editor-worker.js', graphiql.editorWorkerService],
    ['graphql-worker.js', graphiql.graphqlWorker],
    ['json-worker.js', graphiql.jsonWorker],
    ...(await Promise.all(OWN_FILES.map(async (name) => [name, await readText(BROWSER, name)] as const))),
    ...(await Promise.all(
      clientModules.map(
        async (name) => [`client/src/${name}`, stripTypeScriptTypes(await readText(CLIENT, name))] as const,
      ),
    )),
  ];
  const hash = createHash('sha256');
  for (const [name, text] of texts) hash.update(name).update(text);
  return {
    hash: hash.digest('base64url').slice(0, 16),
    files: new Map(texts.map(([name, text]) => [name, Buffer.from(text)])),
  };
}

interface GraphiqlOptions {
  readonly examples: readonly Example[];
  readonly home?: string | undefined;
  /** The key is prefilled for visitors who have the printed URL. */
  readonly demoKey?: DemoKey | undefined;
}

const ASSETS = '/graphiql/';

/** Monaco, the editor, sets styles in script, which no hash can allow. */
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

/** The URL contains a hash of the content, so the response never changes (RFC 8246). */
function assetResponse(name: string, bytes: Buffer): HttpResponse {
  const type = name.endsWith('.css') ? CSS : JAVASCRIPT;
  const headers = { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' };
  return new HttpResponse(bytes, { headers, isFile: true });
}

/** Serves GraphiQL to browsers that open the path of GraphQL, and the assets of its page. */
export function graphiqlRoutes(options: GraphiqlOptions): Record<'page' | 'assets', Route> {
  const { examples, home, demoKey } = options;
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
      ...PUBLIC_ROUTE,
      path: PATHS.graphql,
      storable: false,
      varies: ['Accept'],
      async handler(_request, state, url) {
        const assets = `${ASSETS}${(await loaded()).hash}/`;
        const demo = demoKeyFor(demoKey, state, url);
        const headers = {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': POLICY,
          'referrer-policy': 'same-origin',
        };
        const homeLink =
          home === undefined || typeof demo !== 'object' ? home : home + withToken(demo.pageToken);
        const page = graphiqlPage({ assets, examples, home: homeLink, demo });
        return new HttpResponse(page, { headers });
      },
    },
    assets: {
      ...PUBLIC_ROUTE,
      path: `${ASSETS}*`,
      async handler(_request, _state, { pathname }) {
        const { hash, files } = await loaded();
        const folder = `${ASSETS}${hash}/`;
        const name = pathname.startsWith(folder) ? pathname.slice(folder.length) : '';
        const bytes = files.get(name);
        return bytes && assetResponse(name, bytes);
      },
    },
  };
}
