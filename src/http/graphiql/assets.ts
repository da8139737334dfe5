import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const OWN_FILES = ['page.js', 'tabs.js', 'fetcher.js', 'stream.js', 'status.js', 'loading.css', 'page.css'];

export interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The files that the page loads, by name, and a hash of them all. */
export interface Assets {
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
export async function loadAssets(): Promise<Assets> {
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
