import { html, NOTHING } from '../../http/pages/html.ts';
import { layout } from '../../http/pages/layout.ts';

export interface ErrorPage {
  readonly title: string;
  /** What happened and what to do, for the user. */
  readonly message: string;
  /** The OAuth error, for the application's developers. */
  readonly detail?: string | undefined;
  readonly requestId: string;
}

export function errorPage({ title, message, detail, requestId }: ErrorPage): string {
  const technical = detail === undefined ? NOTHING : html`<p class="soft">Technical details: ${detail}</p>`;
  return layout({
    title,
    content: html`<h1>${title}</h1>
<p>${message}</p>
${technical}
<p class="soft">Request ${requestId}</p>`,
  });
}
