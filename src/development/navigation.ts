import { type Html, html, NOTHING } from '../http/pages/layout.ts';
import type { HttpResponse } from '../request/http-message.ts';
import { DECISIONS, GROUPS } from './groups.ts';
import { siteResponse } from './layout.ts';
import type { Heading } from './markdown.ts';
import { DOCS, type DocsPage, EXAMPLE_FILES } from './pages.ts';

function linksTo(pages: readonly DocsPage[], current?: DocsPage, under: Html = NOTHING): readonly Html[] {
  return pages.map((page) =>
    page.file === current?.file
      ? html`<li><a href="${page.path}" aria-current="page">${page.title}</a>${under}</li>
`
      : html`<li><a href="${page.path}">${page.title}</a></li>
`,
  );
}

const card = (path: string, title: string, about: string): Html =>
  html`<li><a href="${path}">${title}</a><p>${about}</p></li>
`;

const anchorOf = (group: string) => group.toLowerCase().replaceAll(' ', '-');
const inGroup = (pages: readonly DocsPage[], name: string) => pages.filter(({ group }) => group === name);

/** What stands behind the pages of the first group. */
const FILES: readonly Html[] = [
  card(
    EXAMPLE_FILES,
    'Example files',
    'Every file of the recipes and of the example page, made to be copied.',
  ),
  card(
    `${DOCS}schema.graphql`,
    'Schema',
    'Every type, field and argument, in the schema definition language.',
  ),
];
const FILES_LINK = html`<li><a href="${EXAMPLE_FILES}">Example files</a></li>
`;

/** Every page, by what one wants to do. */
export function listPage(pages: readonly DocsPage[]): HttpResponse {
  const sections = GROUPS.map(
    ({ name, about }, index) => html`<h2 id="${anchorOf(name)}">${name}</h2>
<p class="small">${about}</p>
<ul class="cards">
${inGroup(pages, name).map(({ path, title, summary }) => card(path, title, summary))}${index === 0 ? FILES : NOTHING}</ul>
`,
  );
  return siteResponse({
    title: 'Docs',
    wide: true,
    content: html`<h1>Docs</h1>
<p class="lead">Outputs of commands are those of a first start. <code>npm run demo:reset</code>, with the service stopped, restores that state.</p>
${sections}<h2 id="${anchorOf(DECISIONS)}">${DECISIONS}</h2>
<p class="small">Why it is as it is, and what else was considered.</p>
<ul class="columns">
${linksTo(inGroup(pages, DECISIONS))}</ul>`,
  });
}

/** The pages beside the text, with the sections of this one; above it, the sections alone. */
export function contents(
  pages: readonly DocsPage[],
  current: DocsPage | undefined,
  headings: readonly Heading[],
): Html {
  const sections = headings
    .filter(({ depth }) => depth === 2)
    .map(
      ({ id, text }) => html`<li><a href="#${id}">${text}</a></li>
`,
    );
  const list = html`<ul>
${sections}</ul>`;
  const under = sections.length > 0 ? list : NOTHING;
  const groups = GROUPS.map(
    ({ name }, index) => html`<p>${name}</p>
<ul>
${linksTo(inGroup(pages, name), current, under)}${index === 0 ? FILES_LINK : NOTHING}</ul>
`,
  );
  const decisions = current?.group === DECISIONS ? linksTo([current], current, under) : [];
  const folded = html`<details><summary>On this page</summary>
${list}
</details>`;
  return html`<nav class="contents" aria-label="Docs">
<div class="pages">
${groups}<p>${DECISIONS}</p>
<ul>
<li><a href="${DOCS}#${anchorOf(DECISIONS)}">All decisions</a></li>
${decisions}</ul>
</div>
${sections.length > 0 ? folded : NOTHING}
</nav>`;
}
