import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blocksOf, pathOf } from '../support/docs/markdown.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Pages, and how many files they show at least. */
const PAGES = [
  ['docs/clients/apollo.md', 3],
  ['docs/clients/codegen.md', 2],
  ['docs/clients/curl.md', 4],
  ['docs/clients/event-source.md', 1],
  ['docs/clients/gql-tada.md', 2],
  ['docs/clients/graphql-sse.md', 1],
  ['docs/clients/python.md', 1],
  ['docs/clients/react.md', 2],
  ['docs/clients/relay.md', 4],
  ['docs/clients/svelte.md', 3],
  ['docs/clients/tanstack.md', 2],
  ['docs/clients/urql.md', 3],
  ['docs/clients/vue.md', 3],
  ['docs/guides/trusted-documents.md', 6],
  ['docs/guides/oauth-single-page-app.md', 2],
  ['docs/guides/server-side-rendering.md', 3],
] as const;

describe.each(PAGES)('%s', (page, files) => {
  /** Blocks that are under the path of a file. */
  const shown = blocksOf(readFileSync(join(ROOT, page), 'utf8')).flatMap((block) => {
    const path = pathOf(block);
    return path?.startsWith('examples/') ? [{ path, text: block.text }] : [];
  });

  it('shows files', () => {
    expect(shown.length).toBeGreaterThanOrEqual(files);
  });

  it.each(shown)('shows $path as it is', ({ path, text }) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toContain(text);
  });
});

/** What browsers have on https and on localhost only, and a page on `http://192.168.0.7` does not have. */
const SECURE_CONTEXT_ONLY =
  /\bcrypto\.(?:randomUUID|subtle)\b|\bnavigator\.(?:clipboard|credentials|locks|serviceWorker|storage)\b/;

/** Files that may use such an API. */
const EXCEPTIONS = new Map([
  ['examples/clients/documents/apollo-link.ts', 'docs/guides/trusted-documents.md names the other way'],
  ['examples/clients/oauth-page/oauth.ts', 'a redirect URI is https or on localhost'],
]);

it('code for browsers needs no secure context', () => {
  const files = globSync(['examples/**/*.{html,js,mjs,ts,tsx}', 'src/**/browser/*.js'], {
    cwd: ROOT,
    exclude: ['**/node_modules/**', '**/{build,dist}/**', '**/generated/**', '**/__generated__/**'],
  });
  const pages = globSync(['README.md', 'docs/**/*.md'], {
    cwd: ROOT,
    exclude: ['docs/{contributing,decisions}/**', '**/node_modules/**'],
  });
  const shown = pages.flatMap((page) =>
    blocksOf(readFileSync(join(ROOT, page), 'utf8'))
      .filter((block) => !EXCEPTIONS.has(pathOf(block) ?? ''))
      .map(({ text }) => ({ name: page, text })),
  );
  const code = [...files.map((name) => ({ name, text: readFileSync(join(ROOT, name), 'utf8') })), ...shown];
  const needing = code.filter(({ text }) => SECURE_CONTEXT_ONLY.test(text)).map(({ name }) => name);
  expect(needing.sort()).toEqual([...EXCEPTIONS.keys()].sort());
});
