import { html, nothing, type TemplateResult } from 'lit-html';
import { type ListContext, openTags } from '../live/list.ts';
import { type ListPlace, listPath } from '../router.ts';

/** Leads to the posts with each tag. */
export function createTags(context: ListContext) {
  const list = openTags(context);

  return {
    close: list.close,
    /** Links from a list of posts. */
    render(place: ListPlace): TemplateResult {
      const { items = [], hasMore } = list.current;
      const link = (label: string, tag?: string, count?: number) => html`<li>
        <a class="nav-link" href=${listPath({ ...place, tag })} aria-current=${tag === place.tag ? 'true' : nothing}>${label} <span>${count}</span></a>
      </li>`;
      return html`<nav class="side" aria-label="Tags">
        <ul>
          ${link('All posts')} ${items.map(({ name, postCount }) => link(name, name, postCount))}
          ${hasMore ? html`<li><button type="button" class="small" @click=${list.more}>More tags</button></li>` : nothing}
        </ul>
      </nav>`;
    },
  };
}
