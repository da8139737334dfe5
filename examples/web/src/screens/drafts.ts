import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { DraftSummary } from '../api/operations.ts';
import { openDrafts } from '../live/list.ts';
import { listNotice } from '../parts/notice.ts';
import { draftPath, newPath } from '../router.ts';
import type { Context, Screen } from './screen.ts';

const PAGE_SIZE = 20;

/** The drafts of the user, on whichever device they were saved. */
export function createDrafts(context: Context): Screen {
  const list = openDrafts(context, PAGE_SIZE);

  const row = ({ id, title, tags, updatedAt }: DraftSummary) => html`<li>
    <article class="row draft">
      <h2><a href=${draftPath(id)}>${title === '' ? 'Untitled' : title}</a></h2>
      <p class="meta">Saved <relative-time .at=${updatedAt}></relative-time>${
        tags.length === 0
          ? nothing
          : html`
        <span class="dot" aria-hidden="true">·</span> ${tags.join(', ')}`
      }</p>
    </article>
  </li>`;

  function content(): TemplateResult | typeof nothing {
    const { items, error, hasMore, isReading } = list.current;
    if (items === undefined)
      return error === undefined ? html`<p class="soft loading">Loading drafts…</p>` : nothing;
    if (items.length === 0)
      return html`<p class="end soft">You have no drafts. <a href=${newPath}>Write a post</a>, and save it as a draft.</p>`;
    return html`<ol class="posts card">${repeat(items, ({ id }) => id, row)}</ol>
      ${hasMore ? html`<button type="button" class="more" aria-busy=${isReading} @click=${list.more}>${isReading ? 'Loading…' : 'More'}</button>` : nothing}`;
  }

  return {
    title: 'Drafts',
    render: () => html`<div class="screen-head">
        <h1 tabindex="-1">Drafts</h1>
        <p class="soft">Only you see them, on all your devices.</p>
      </div>
      ${content()} ${listNotice(list.current, list.retry)}`,
    dispose: list.close,
  };
}
