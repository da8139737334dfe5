import { PlainResponse } from '../../request/http-message.ts';
import { isLocalVisit } from '../../request/local-request.ts';
import type { HttpPlugin } from '../plugin.ts';
import { startPage } from '../site/start-page.ts';
import { useDocs } from '../site/use-docs.ts';
import { useExample } from './example.ts';
import { route } from './route.ts';

export interface DevelopmentOptions {
  /** The path of the GraphQL endpoint. */
  readonly endpoint: string;
  readonly graphiql: boolean;
  /** A key for the first call, on pages that only this machine can open. */
  readonly demoKey?: string | undefined;
}

/** A page of links at the root, and the endpoint under its other spelling. */
function useStartPage({ endpoint, graphiql, demoKey }: DevelopmentOptions): HttpPlugin {
  const other = `${endpoint}/`;
  return route(
    ({ request: { method }, url: { pathname } }) =>
      (method === 'GET' || method === 'HEAD') && (pathname === '/' || pathname === other),
    async ({ request, url, state }) => {
      if (url.pathname === '/') {
        const key = isLocalVisit(state, url.hostname) ? demoKey : undefined;
        return startPage({ origin: new URL(url.href).origin, endpoint, graphiql, key });
      }
      const search = request.url.indexOf('?');
      const location = endpoint + (search < 0 ? '' : request.url.slice(search));
      return new PlainResponse('', { status: 308, headers: { location } });
    },
  );
}

/** For development (contract section 2). In production these pages are 404. */
export function developmentPages(options: DevelopmentOptions): HttpPlugin[] {
  return [useStartPage(options), useExample(), useDocs()];
}
