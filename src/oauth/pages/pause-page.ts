import { html } from '../../http/pages/html.ts';
import { layout } from '../../http/pages/layout.ts';

/**
 * Continues by itself. A link from another site comes without the session's SameSite=Strict cookie; a
 * navigation from one of our own pages carries it.
 */
export function pausePage(path: string): string {
  return layout({
    title: 'One moment',
    head: html`<meta http-equiv="refresh" content="0; url=${path}">`,
    content: html`<h1>One moment</h1>
<p><a href="${path}">Continue</a></p>`,
  });
}
