import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');

/** Where posts, comments and tags may be named. */
const HOMES = ['schema/', 'auth/scopes.ts', 'features/development/', 'generated/'];

/** Names of the domain, in SQL, in properties and in types. */
const DOMAIN =
  /\b(?:posts?|comments?|tags?)\b|\b(?:post|comment)_(?:id|count)\b|\b(?:post|comment)(?:s|Id|Ids|Count|Created|Entity|Row)\b|\b(?:Post|Comment|Tag)(?:s|Row|Types|Entity|Feed)?\b/g;

/** The same words in the trade's meanings, by file: HTTP methods, parts of ciphers, of documents and of HTML. */
const OTHER_MEANINGS: Readonly<Record<string, RegExp>> = {
  'auth/passwords.ts': /\btag\b/,
  'features/account-pages/forms.ts': /method="post"/,
  'http/html/sign-in.ts': /method="post"/,
  'features/oauth/commands.ts': /--post-logout-redirect-uri/,
  'features/oauth/routes/openid.ts': /method="post"/,
  'features/oauth/routes/sign-in-pages.ts': /method="post"/,
  'http/body.ts': /'accept-post'/,
  'database/embedded/worker.ts': /\bpost\(|\bpost = \(/,
};

/** What is not code: comments tell examples. */
const withoutComments = (text: string) =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(?<![:'"`])\/\/.*$/gm, '');

const files = globSync('**/*.ts', { cwd: SRC }).filter(
  (path) => !HOMES.some((home) => path.startsWith(home)),
);

function namesIn(path: string): string[] {
  return withoutComments(readFileSync(join(SRC, path), 'utf8'))
    .split('\n')
    .filter((line) => line.match(DOMAIN) !== null && OTHER_MEANINGS[path]?.test(line) !== true)
    .map((line) => line.trim());
}

describe('Only the schema knows posts, comments and tags', () => {
  it.each(files)('%s', (path) => {
    expect(
      namesIn(path),
      'Declare in src/schema what these lines need of the product, and pass it as data or as a function',
    ).toEqual([]);
  });

  it('names them in the schema, so that the words above are the right ones', () => {
    const text = globSync('schema/**/*.ts', { cwd: SRC })
      .map((path) => readFileSync(join(SRC, path), 'utf8'))
      .join('');
    expect(new Set(text.match(DOMAIN)).size).toBeGreaterThan(10);
  });
});
