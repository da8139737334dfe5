import { posix } from 'node:path';
import { html, NOTHING } from '../http/pages/layout.ts';
import { HttpResponse, type RequestUrl } from '../request/http-message.ts';
import type { Answer } from '../request/request-state.ts';
import { exampleFiles } from './example-files.ts';
import { examplePage, examplesPage } from './example-pages.ts';
import { moved, siteResponse } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import { contents, listPage } from './navigation.ts';
import {
  addressOf,
  DOCS,
  type DocsPage,
  EXAMPLE_FILES,
  folderAnchor,
  readDocsFile,
  readPages,
  withPort,
} from './pages.ts';
import { search } from './search.ts';
import { QUERY } from './search-form.ts';
import { hitList, searchPage } from './search-page.ts';

/** The port of http is not in a URL. */
const pagesFor = async ({ href }: RequestUrl): Promise<readonly DocsPage[]> =>
  withPort(await readPages(), new URL(href).port || '80');

function articlePage(pages: readonly DocsPage[], page: DocsPage, examples: readonly string[]): HttpResponse {
  const files = new Set(pages.map(({ file }) => file));
  const options = { file: page.file, pages: files, examples: new Set(examples) };
  const rendered = renderMarkdown(page.text, options);
  return siteResponse({
    title: page.title,
    content: { html: rendered.html },
    aside: contents(pages, page, rendered.headings),
  });
}

async function fileAt(pathname: string): Promise<HttpResponse | undefined> {
  const file = await readDocsFile(pathname);
  if (file === undefined) return undefined;
  // The policy is for SVG, which may hold scripts.
  const headers = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" };
  return new HttpResponse(file.body, { headers: { 'content-type': file.type, ...headers } });
}

/** The page whose file has this name in the repository. */
const namedAs = (pages: readonly DocsPage[], name: string): DocsPage | undefined =>
  pages.find(({ file }) => file === name || file === `docs/${name}`);

/** What stands in for a page that there is not: where its name is to be found. */
export const answerMissing: Answer = async (_request, _state, asked) => {
  const { pathname } = asked;
  const pages = await pagesFor(asked);
  const words = pathname
    .slice(DOCS.length)
    .replace(/\.\w+$/, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ');
  const { sections } = search(pages, words);
  const near = html`<h2>Perhaps one of these</h2>
${hitList(sections.slice(0, 5), [])}`;
  return siteResponse({
    status: 404,
    title: 'No such page',
    content: html`<h1>There is no such page</h1>
<p>Search for it above, or go to <a href="${DOCS}">all pages</a>.</p>
${sections.length > 0 ? near : NOTHING}`,
  });
};

/** For development: the Markdown files of this repository as web pages, and the files of its examples. */
export const answerDocs: Answer = async ({ url }, _state, asked) => {
  const { pathname, searchParams } = asked;
  if (pathname.length < DOCS.length) return moved(DOCS, url);
  const pages = await pagesFor(asked);
  const query = searchParams.get(QUERY)?.trim() ?? '';
  if (pathname === DOCS) return query === '' ? listPage(pages) : searchPage(pages, query);
  const examples = await exampleFiles();
  const page = pages.find(({ path }) => path === pathname);
  if (page !== undefined) return articlePage(pages, page, examples);
  if (pathname === EXAMPLE_FILES) return examplesPage(pages, examples);
  const example = examples.find((file) => addressOf(file) === pathname);
  if (example !== undefined) return examplePage(pages, example, searchParams);
  const folder = pathname.slice(DOCS.length).replace(/\/?$/, '/');
  const inside = examples.find((file) => file.startsWith(folder));
  if (inside !== undefined) return moved(EXAMPLE_FILES, url, folderAnchor(posix.dirname(inside)));
  const named = namedAs(pages, pathname.slice(DOCS.length));
  if (named !== undefined) return moved(named.path, url);
  return fileAt(pathname);
};
