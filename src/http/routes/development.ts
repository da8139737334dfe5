import { PlainResponse } from '../../request/http-message.ts';
import { pageResponse } from '../oauth/page-response.ts';
import { html } from '../oauth/pages/html.ts';
import { layout } from '../oauth/pages/layout.ts';
import type { HttpPlugin } from '../plugin.ts';
import { route } from './route.ts';

export interface DevelopmentOptions {
  /** The path of the GraphQL endpoint. */
  readonly endpoint: string;
  readonly graphiql: boolean;
}

function startPage({ endpoint, graphiql }: DevelopmentOptions): string {
  const explorer = html`<p><a href="${endpoint}">GraphiQL</a>, to try queries in the browser</p>`;
  return layout({
    title: 'Start',
    content: html`<h1>Content Graph API</h1>
<p>The endpoint for queries, mutations and subscriptions is <code>${endpoint}</code>.</p>
${graphiql ? explorer : []}
<p><a href="/health/ready">Health</a> and <a href="/metrics">metrics</a></p>`,
  });
}

/**
 * For development (contract section 2): a page of links at the root, and the endpoint under its other spelling. In
 * production both are 404.
 */
export function useDevelopmentPages(options: DevelopmentOptions): HttpPlugin {
  const other = `${options.endpoint}/`;
  const page = startPage(options);
  return route(
    ({ request: { method }, url: { pathname } }) =>
      (method === 'GET' || method === 'HEAD') && (pathname === '/' || pathname === other),
    async ({ request, url }) => {
      if (url.pathname === '/') return pageResponse(page);
      const search = request.url.indexOf('?');
      const location = options.endpoint + (search < 0 ? '' : request.url.slice(search));
      return new PlainResponse('', { status: 308, headers: { location } });
    },
  );
}
