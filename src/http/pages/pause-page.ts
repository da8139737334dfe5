import type { HttpRequest, HttpResponse } from '../../request/http-message.ts';
import { html } from './html.ts';
import { layout } from './layout.ts';
import { pageResponse } from './page-response.ts';

/** A query parameter: one of our own pages led here. */
const FROM_HERE = 'from-here';

/**
 * For somebody whom another site has led to `path`, and who seems to be signed out: a page that goes on by itself. A link
 * from another site comes without the session's SameSite=Strict cookie; a navigation from one of our own pages carries it.
 * Undefined for everybody else.
 */
export function pauseFor({ headers, url }: HttpRequest, path: string): HttpResponse | undefined {
  if (headers.get('sec-fetch-site') !== 'cross-site' || new URL(url).searchParams.has(FROM_HERE))
    return undefined;
  const onwards = `${path}?${FROM_HERE}`;
  return pageResponse(
    layout({
      title: 'One moment',
      head: html`<meta http-equiv="refresh" content="0; url=${onwards}">`,
      content: html`<h1>One moment</h1>
<p><a href="${onwards}">Continue</a></p>`,
    }),
  );
}
