import { html, nothing, type TemplateResult } from 'lit-html';
import type { Author } from '../api/operations.ts';
import { tagPath, userPath } from '../router.ts';

const HUES = 12;

interface Person {
  readonly id: string;
  readonly name: string;
  readonly avatarUrl?: string | null;
}

/** In degrees. */
function hueOf(id: string): number {
  let sum = 0;
  for (const character of id) sum = (sum * 31 + character.charCodeAt(0)) % 997;
  return (sum % HUES) * (360 / HUES);
}

/** The picture of a user above the initial, which stays if the picture cannot be loaded. */
export function avatar({ id, name, avatarUrl = null }: Person): TemplateResult {
  const show = ({ currentTarget, type }: Event) => {
    if (currentTarget instanceof HTMLElement) currentTarget.hidden = type === 'error';
  };
  const picture = html`<img src=${avatarUrl} alt="" loading="lazy" referrerpolicy="no-referrer" @load=${show} @error=${show} />`;
  // The content security policy allows no style attribute, but the property.
  return html`<span class="avatar" .style=${`--hue: ${hueOf(id)}`} aria-hidden="true">${[...name][0]?.toUpperCase()}${avatarUrl === null ? nothing : picture}</span>`;
}

/** Who wrote something, and when. */
export function byline(author: Author, createdAt: string): TemplateResult {
  return html`<a class="author" href=${userPath(author)}>${author.name}</a>
    <span class="dot" aria-hidden="true">·</span>
    <relative-time .at=${createdAt}></relative-time>`;
}

export function tagList(tags: readonly string[]): TemplateResult | string {
  if (tags.length === 0) return '';
  const link = (tag: string) => html`<li><a class="tag" href=${tagPath(tag)}>${tag}</a></li>`;
  return html`<ul class="tags" aria-label="Tags">${tags.map(link)}</ul>`;
}
