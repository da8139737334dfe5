import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import type { RouteHandler } from '../../http/exchange.ts';
import { ASKED_AGAIN } from '../../http/hooks/caching.ts';
import { html, layout, pageResponse } from '../../http/html/page.ts';
import { HttpResponse } from '../../http/message.ts';
import { HOME } from '../../http/routes/table.ts';

export const EXAMPLE = '/example/';
/** `BUILD_EXAMPLE` writes the page to this folder, independent of the working directory. */
const FOLDER = join(import.meta.dirname, '../../../examples/web/dist');
/** The names of these files contain a hash of their content. */
const HASHED = 'assets/';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The page loads everything but pictures of users from its own origin, and has no inline script or style. */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' https:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** A running service serves the page from the next request on. */
export const BUILD_EXAMPLE = 'npm run example:build';

export const isBuilt = (folder: string = FOLDER): boolean => existsSync(join(folder, 'index.html'));

/** The response is not storable, because another service may use the port later. */
export const redirectPermanently = (location: string) =>
  new HttpResponse('', { status: 308, headers: { location, 'cache-control': 'no-store' } });

const notBuilt = (search: string) =>
  pageResponse(
    layout({
      title: 'Example',
      content: html`<h1>The example is not built yet</h1>
<p>Open a second terminal in the folder of the project, and run:</p>
<pre tabindex="0"><code>${BUILD_EXAMPLE}</code></pre>
<p>The first build takes a minute, because the command also installs the packages of the page. The service keeps running. Then <a href="${EXAMPLE}${search}">open the example</a>.</p>
<p><a href="${HOME}${search}">Back to the start page</a></p>`,
    }),
    { headers: { 'cache-control': 'no-store' } },
  );

/** Returns relative paths with slashes. Symbolic links do not count as files. */
async function filesIn(folder: string): Promise<ReadonlySet<string>> {
  if (!existsSync(folder)) return new Set();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Set(
    files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll('\\', '/')),
  );
}

async function fileResponse(folder: string, name: string): Promise<HttpResponse> {
  const headers = {
    'content-type': TYPES[extname(name)] ?? 'application/octet-stream',
    'cache-control': name.startsWith(HASHED) ? 'public, max-age=31536000, immutable' : ASKED_AGAIN,
    'content-security-policy': POLICY,
    'x-frame-options': 'DENY',
    'referrer-policy': 'same-origin',
  };
  return new HttpResponse(await readFile(join(folder, name)), { headers });
}

/**
 * Serves the page of `examples/web` in development. A path must be the name of a built file, so no path leads
 * out of the folder. Each request reads the folder again, because a build may replace it.
 */
export function createExampleHandler(folder: string = FOLDER): RouteHandler {
  return async (_request, _state, { pathname, search }) => {
    if (pathname.length < EXAMPLE.length) return redirectPermanently(EXAMPLE + search);
    const name = pathname === EXAMPLE ? 'index.html' : pathname.slice(EXAMPLE.length);
    const files = await filesIn(folder);
    if (files.has(name)) return fileResponse(folder, name);
    return name === 'index.html' ? notBuilt(search) : undefined;
  };
}
