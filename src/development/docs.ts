import { type Html, html, NOTHING } from '../http/pages/html.ts';
import type { Answer } from '../request/request-state.ts';
import { moved, siteResponse } from './layout.ts';
import { type Heading, renderMarkdown } from './markdown.ts';
import { DOCS, type DocsPage, readDocsFile, readPages } from './pages.ts';

function linksTo(pages: readonly DocsPage[], current?: DocsPage, under: Html = NOTHING): readonly Html[] {
  return pages.map((page) =>
    page.file === current?.file
      ? html`<li><a href="${page.path}" aria-current="page">${page.title}</a>${under}</li>
`
      : html`<li><a href="${page.path}">${page.title}</a></li>
`,
  );
}

function card({ path, title, summary }: DocsPage): Html {
  const about = summary === '' ? NOTHING : html`<p>${summary}</p>`;
  return html`<li><a href="${path}">${title}</a>${about}</li>
`;
}

function listPage(pages: readonly DocsPage[]) {
  const decisions = pages.filter(({ group }) => group === 'Decisions');
  const others = pages.filter((page) => !decisions.includes(page));
  return siteResponse({
    title: 'Docs',
    wide: true,
    content: html`<h1>Docs</h1>
<ul class="cards">
${others.map(card)}<li><a href="${DOCS}schema.graphql">Schema</a><p>Every type, field and argument, in the schema definition language.</p></li>
</ul>
<h2 id="decisions">Decisions</h2>
<ul class="columns">
${linksTo(decisions)}</ul>`,
  });
}

/** The pages beside the text, with the sections of this one; above it, the sections alone. */
function contents(pages: readonly DocsPage[], current: DocsPage, headings: readonly Heading[]): Html {
  const sections = headings
    .filter(({ depth }) => depth === 2)
    .map(
      ({ id, text }) => html`<li><a href="#${id}">${text}</a></li>
`,
    );
  const list = html`<ul>
${sections}</ul>`;
  const shown = pages.filter(({ group, file }) => group !== 'Decisions' || file === current.file);
  const folded = html`<details><summary>On this page</summary>
${list}
</details>`;
  return html`<nav class="contents" aria-label="Docs">
<ul class="pages">
${linksTo(shown, current, sections.length > 0 ? list : NOTHING)}<li><a href="${DOCS}#decisions">Decisions</a></li>
</ul>
${sections.length > 0 ? folded : NOTHING}
</nav>`;
}

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
