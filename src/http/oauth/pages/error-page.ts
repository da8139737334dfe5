import { html, NOTHING } from './html.ts';
import { layout } from './layout.ts';

export interface ErrorPage {
  readonly title: string;
  /** What happened and what to do, in words for the person in front of it. */
  readonly message: string;
  /** For whoever set up the application: OAuth's own words. */
  readonly detail?: string | undefined;
  readonly requestId: string;
}

export function errorPage({ title, message, detail, requestId }: ErrorPage): string {
  const technical = detail === undefined ? NOTHING : html`<p class="soft">For its developers: ${detail}</p>`;
  return layout({
    title,
    content: html`<h1>${title}</h1>
<p>${message}</p>
${technical}
<p class="soft">Request ${requestId}</p>`,
  });
}
