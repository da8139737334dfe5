import type { Answer } from '../request/request-state.ts';
import { moved, siteResponse } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import { contents, listPage } from './navigation.ts';
import { DOCS, type DocsPage, readDocsFile, readPages } from './pages.ts';

function articlePage(pages: readonly DocsPage[], page: DocsPage) {
  const files = new Set(pages.map(({ file }) => file));
  const rendered = renderMarkdown(page.text, { file: page.file, pages: files });
  return siteResponse({
    title: page.title,
    content: { html: rendered.html },
    aside: contents(pages, page, rendered.headings),
  });
}

/** For development: the Markdown files of this repository as web pages. */
export const answerDocs: Answer = async (_request, _state, { pathname }) => {
  if (pathname.length < DOCS.length) return moved(DOCS);
  const pages = await readPages();
  if (pathname === DOCS) return listPage(pages);
  const page = pages.find(({ path }) => path === pathname);
  if (page !== undefined) return articlePage(pages, page);
  const file = await readDocsFile(pathname);
  // The policy is for SVG, which may hold scripts.
  const headers = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" };
  return (
    file && new Response(new Uint8Array(file.body), { headers: { 'content-type': file.type, ...headers } })
  );
};
