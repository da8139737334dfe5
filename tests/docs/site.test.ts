import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findTarget, readSidebar, toSitePath } from '../../docs/.vitepress/pages.ts';
import { MINI_SEARCH } from '../../docs/.vitepress/search.ts';
import { makeTestFolder } from '../support/database/test-folder.ts';
import { anchorsOf } from '../support/docs/markdown.ts';
import { environment, ROOT } from '../support/processes/process.ts';
import questions from './search-questions.json' with { type: 'json' };

interface Found {
  readonly id: string;
  /** The words of the index that the question has found, with their fields. */
  readonly match: Readonly<Record<string, readonly string[]>>;
}

interface SearchLibrary {
  readonly default: {
    loadJSON(json: string, options: object): { search(query: string): readonly Found[] };
  };
}

let site = '';
let search: (query: string) => readonly Found[];

/** The pages that a reader sees in the list of the search, the best one first. */
const findPages = (query: string): string[] => [
  ...new Set(search(query).map(({ id }) => id.replace(/#.*/, '').replace(/\.html$/, '.md'))),
];

const position = ({ question, page }: { readonly question: string; readonly page: string }) =>
  findPages(question).findIndex((path) => path.endsWith(`/${page}`)) + 1;

beforeAll(async () => {
  site = await makeTestFolder('content-graph-site-');
  // Throws, with the messages of the build, if the build fails.
  execFileSync('npm', ['run', '-s', 'docs:build', '--', '--outDir', site], {
    cwd: ROOT,
    env: environment({ NODE_USE_SYSTEM_CA: '1' }),
    stdio: 'pipe',
  });
  const load = async (path: string) => import(pathToFileURL(path).href);
  const [chunk = ''] = globSync('assets/chunks/@localSearchIndex*.js', { cwd: site });
  const { default: json }: { readonly default: string } = await load(join(site, chunk));
  const library = createRequire(join(ROOT, 'docs/package.json')).resolve('minisearch');
  const { default: MiniSearch }: SearchLibrary = await load(library);
  const { options, searchOptions } = MINI_SEARCH;
  const index = MiniSearch.loadJSON(json, { ...options, searchOptions });
  search = (query) => index.search(query);
});

afterAll(() => rm(site, { recursive: true, force: true }));

describe('the site of the documentation', () => {
  it('has each page of the sidebar, with the anchors of a code host', () => {
    const links = readSidebar().flatMap(({ items }) => items.map(({ link }) => link));
    const files = globSync('**/*.md', { cwd: ROOT, exclude: ['**/node_modules/**', '**/.*/**'] });
    const fileOf = new Map(files.map((file) => [`/${toSitePath(file)}`, file]));
    expect(links.length).toBeGreaterThan(50);
    for (const link of links) {
      const html = readFileSync(join(site, link.replace(/\.md$/, '.html')), 'utf8');
      const anchors = anchorsOf(readFileSync(join(ROOT, fileOf.get(link) ?? ''), 'utf8'));
      const lost = [...anchors].filter((anchor) => !html.includes(`id="${anchor}"`));
      expect(lost, link).toEqual([]);
    }
  });

  it('has the schema', () => {
    const schema = readFileSync(join(ROOT, 'schema.graphql'), 'utf8');
    expect(readFileSync(join(site, 'files/schema.graphql'), 'utf8')).toBe(schema);
    expect(existsSync(join(site, 'reference/api.html'))).toBe(true);
  });

  it('is not built with a link that leads nowhere', () => {
    expect(() => findTarget('docs/README.md', 'guides/none.md')).toThrow(
      'docs/README.md links to guides/none.md, which does not exist',
    );
  });
});

describe('the search', () => {
  it('takes a short word as it is', () => {
    const words = search('cors').flatMap(({ match }) => Object.keys(match));
    expect(words.length).toBeGreaterThan(0);
    expect(words.filter((word) => !word.startsWith('cors'))).toEqual([]);
  });

  it('finds words of tables, and each cell by itself', () => {
    expect(findPages('MAX_COMPLEXITY').slice(0, 3)).toContain('/reference/limits.md');
    expect(findPages('COMPLEXITY_LIMIT').slice(0, 3)).toContain('/reference/errors.md');
  });

  it('finds words that only code has, after prose', () => {
    const words = search('endCursor').flatMap(({ match }) => Object.values(match).flat());
    expect(words).toContain('code');
    expect(findPages('content-graph-client').length).toBeGreaterThan(0);
  });

  it('answers 20 of 25 questions with the first page, and 24 with the first three', () => {
    const ranked = questions.map((question) => ({ ...question, position: position(question) }));
    const wrong = ranked
      .filter((entry) => entry.position !== 1)
      .map(
        (entry) =>
          `${entry.question}: ${entry.page} is at ${entry.position}, after ${findPages(entry.question).slice(0, 3).join(' ')}`,
      )
      .join('\n');
    expect(questions.length).toBe(25);
    expect(ranked.filter((entry) => entry.position === 1).length, wrong).toBeGreaterThanOrEqual(20);
    const shown = ranked.filter((entry) => entry.position > 0 && entry.position <= 3);
    expect(shown.length, wrong).toBeGreaterThanOrEqual(24);
  });
});
