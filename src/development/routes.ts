import { HOME, OPEN, PATHS } from '../http/routes/table.ts';
import { isLocalVisit } from '../request/local-request.ts';
import type { Route } from '../request/request-state.ts';
import { answerDocs } from './docs.ts';
import { EXAMPLE, exampleAnswer } from './example.ts';
import { moved } from './layout.ts';
import { DOCS } from './pages.ts';
import { startPage } from './start-page.ts';

export interface DevelopmentOptions {
  readonly graphiql: boolean;
  /** A key for the first call, on pages that only this machine can open. */
  readonly demoKey?: string | undefined;
}

/** Pages for development (contract section 2). In production they are 404. */
export function developmentRoutes({ graphiql, demoKey }: DevelopmentOptions): Route[] {
  return [
    {
      ...OPEN,
      path: HOME,
      // It may show a key.
      storable: false,
      async answer(_request, state, { href, hostname }) {
        const key = isLocalVisit(state, hostname) ? demoKey : undefined;
        return startPage({ origin: new URL(href).origin, graphiql, key });
      },
    },
    {
      ...OPEN,
      // The endpoint under its other spelling.
      path: `${PATHS.graphql}/`,
      storable: false,
      async answer({ url }) {
        const search = url.indexOf('?');
        return moved(PATHS.graphql + (search < 0 ? '' : url.slice(search)));
      },
    },
    { ...OPEN, path: `${EXAMPLE}*`, answer: exampleAnswer() },
    // Read anew for each request, so that edits show at once.
    { ...OPEN, path: `${DOCS}*`, storable: false, answer: answerDocs },
  ];
}
