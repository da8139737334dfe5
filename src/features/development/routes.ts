import type { Route } from '../../http/exchange.ts';
import { html, pageErrorsTo } from '../../http/html/page.ts';
import { type DemoKey, demoKeyFor } from '../../http/local-request.ts';
import { HOME, PATHS, PUBLIC_ROUTE } from '../../http/routes/table.ts';
import { createExampleHandler, EXAMPLE, isBuilt, redirectPermanently } from './example.ts';
import { startPage } from './pages.ts';

export interface DevelopmentOptions {
  readonly graphiql: boolean;
  /** The key is shown to visitors who have the printed URL. */
  readonly demoKey?: DemoKey | undefined;
}

/** In production, these paths return 404. */
export function developmentRoutes({ graphiql, demoKey }: DevelopmentOptions): Route[] {
  const example: Route = {
    ...PUBLIC_ROUTE,
    path: `${EXAMPLE}*`,
    varies: ['Accept'],
    handler: createExampleHandler(),
  };
  return [
    {
      ...PUBLIC_ROUTE,
      path: HOME,
      // The page may show a key.
      storable: false,
      async handler(_request, state, url) {
        const { origin } = new URL(url.href);
        const demo = demoKeyFor(demoKey, state, url);
        return startPage({ origin, graphiql, exampleBuilt: isBuilt(), demo });
      },
    },
    {
      ...PUBLIC_ROUTE,
      // The GraphQL endpoint also accepts a trailing slash.
      path: `${PATHS.graphql}/`,
      storable: false,
      async handler(_request, _state, { search }) {
        return redirectPermanently(PATHS.graphql + search);
      },
    },
    {
      ...example,
      page: { ...example, errors: pageErrorsTo(html`<a href="${EXAMPLE}">Open the example</a>`) },
    },
  ];
}
