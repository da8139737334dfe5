import { type Html, html } from '../http/pages/layout.ts';
import type { HttpResponse } from '../request/http-message.ts';
import { siteResponse } from './layout.ts';
import { DOCS, type DocsPage } from './pages.ts';
import { type Section, search } from './search.ts';

/** Characters of a snippet. */
const LENGTH = 220;

const escapeOf = (word: string) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** A text with the words marked. */
function marked(text: string, words: readonly string[]): Html {
  if (words.length === 0) return html`${text}`;
  const longestFirst = words.toSorted((a, b) => b.length - a.length);
  const parts = text.split(new RegExp(`(${longestFirst.map(escapeOf).join('|')})`, 'gi'));
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<mark>${part}</mark>` : html`${part}`))}`;
}

/** The part of a text with the most of the words. */
function snippetOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const places = words.flatMap((word) =>
    [...lower.matchAll(new RegExp(escapeOf(word), 'g'))].map(({ index }) => index),
  );
  const coverOf = (from: number) =>
    words.filter((word) => lower.slice(from, from + LENGTH).includes(word)).length;
  let start = 0;
  let most = coverOf(0);
  for (const place of places.slice(0, 200)) {
    const from = Math.max(0, place - 40);
    const cover = coverOf(from);
    if (cover > most) [start, most] = [from, cover];
  }
  const begin = start === 0 ? 0 : text.indexOf(' ', start) + 1;
  const end = text.length <= begin + LENGTH ? text.length : text.lastIndexOf(' ', begin + LENGTH);
  return `${begin > 0 ? '… ' : ''}${text.slice(begin, Math.max(end, begin + 1))}${end < text.length ? ' …' : ''}`;
}

function hit({ page, id, heading, text }: Section, words: readonly string[]): Html {
  const address = id === '' ? page.path : `${page.path}#${id}`;
  const place = id === '' ? page.group : page.title;
  return html`<li><p class="place">${place}</p><a href="${address}">${marked(heading, words)}</a><p>${marked(snippetOf(text, words), words)}</p></li>
`;
}

/** Sections, each with the part of it that has the words. */
export const hitList = (
  sections: readonly Section[],
  words: readonly string[],
): Html => html`<ol class="hits">
${sections.map((section) => hit(section, words))}</ol>`;

/** Where the pages have the words. */
export function searchPage(pages: readonly DocsPage[], query: string): HttpResponse {
  const { words, sections, complete } = search(pages, query);
  const count = sections.length;
  const said =
    count === 0
      ? 'No page has any of these words.'
      : complete
        ? `${count} ${count === 1 ? 'section' : 'sections'}, the best first.`
        : 'No section has all of these words. These have the most:';
  return siteResponse({
    title: `Search: ${query}`,
    query,
    content: html`<h1>“${query}” in the docs</h1>
<p class="small">${said}</p>
${count > 0 ? hitList(sections, words) : html`<p>Try other words, or go to <a href="${DOCS}">all pages</a>.</p>`}`,
  });
}
