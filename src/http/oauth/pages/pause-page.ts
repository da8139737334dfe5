import { html } from './html.ts';
import { layout } from './layout.ts';

/**
 * Goes on by itself, and has to be: what another site links to comes without the session's SameSite=Strict cookie,
 * what one of our own pages leads to comes with it.
 */
export function pausePage(path: string): string {
  return layout({
    title: 'One moment',
    head: html`<meta http-equiv="refresh" content="0; url=${path}">`,
    content: html`<h1>One moment</h1>
<p><a href="${path}">Go on</a></p>`,
  });
}
