import { html, type TemplateResult } from 'lit-html';

const HUES = 6;

interface Author {
  readonly id: string;
  readonly name: string;
}

/** Colours are classes, because the content security policy allows no style attributes. */
function hueOf(id: string): number {
  let sum = 0;
  for (const character of id) sum = (sum * 31 + character.charCodeAt(0)) % 997;
  return sum % HUES;
}

export function avatar({ id, name }: Author): TemplateResult {
  return html`<span class="avatar hue-${hueOf(id)}" aria-hidden="true">${[...name][0]?.toUpperCase()}</span>`;
}

/** Who wrote something, and when. */
export function byline(author: Author, createdAt: string): TemplateResult {
  return html`<span class="author">${author.name}</span>
    <span class="dot" aria-hidden="true">·</span>
    <relative-time .at=${createdAt}></relative-time>`;
}

export function tagList(tags: readonly string[]): TemplateResult | string {
  if (tags.length === 0) return '';
  const link = (tag: string) =>
    html`<li><a class="tag" href="#/tags/${encodeURIComponent(tag)}">${tag}</a></li>`;
  return html`<ul class="tags" aria-label="Tags">${tags.map(link)}</ul>`;
}
