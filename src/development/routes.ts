import { HOME, OPEN, PATHS } from '../http/routes/table.ts';
import { type DemoKey, demoKeyFor, withToken } from '../request/local-request.ts';
import type { Answer, Route } from '../request/request-state.ts';
import { answerDocs, answerMissing } from './docs.ts';
import { answerNoFile, EXAMPLE, exampleAnswer, isBuilt } from './example.ts';
import { GRAPHIQL, moved } from './layout.ts';
import { DOCS } from './pages.ts';
import { startPage } from './start-page.ts';

export interface DevelopmentOptions {
  readonly graphiql: boolean;
  /** A key for the first call, for whoever has the printed address. */
  readonly demoKey?: DemoKey | undefined;
}

/** Links to pages that show the key, or that lead to them. */
const PAGE_LINK = /(?<=href=")(\/|\/graphql|\/example\/|\/docs\/(?:[^"#.?]*|examples\/[^"#?]*))(?=["#])/g;
/** The search leads to such a page, too. */
const SEARCH = /<form class="search"[^>]*>/g;

/**
 * Answers with pages whose links have the token, if their own address has it. Where GraphiQL is off, no link leads to it.
 */
const forVisitor =
  ({ demoKey, graphiql }: DevelopmentOptions, answer: Answer): Answer =>
  async (request, state, url) => {
    const response = await answer(request, state, url);
    const demo = demoKeyFor(demoKey, state, url);
    // Files of the example have no such links, and no text to look for them in.
    let text = response?.body;
    if (response === undefined || typeof text !== 'string' || (typeof demo !== 'object' && graphiql))
      return response;
    if (!graphiql) text = text.replace(GRAPHIQL.html, '');
    if (typeof demo === 'object')
      text = text
        .replaceAll(PAGE_LINK, `$1${withToken(demo.pageToken)}`)
        .replaceAll(SEARCH, `$&<input type="hidden" name="token" value="${demo.pageToken}">`);
    response.body = text;
    return response;
  };

/** A route whose unknown paths are a page for browsers, too. */
const withPage = (route: Route, missing: Answer): Route => {
  const varies = ['Accept'];
  const answer: Answer = async (...asked) => (await route.answer(...asked)) ?? missing(...asked);
  return { ...route, varies, page: { ...route, varies, answer } };
};

/** Pages for development (contract section 2). In production they are 404. */
export function developmentRoutes(options: DevelopmentOptions): Route[] {
  const { graphiql, demoKey } = options;
  return [
    {
      ...OPEN,
      path: HOME,
      // It may show a key.
      storable: false,
      answer: forVisitor(options, async (_request, state, url) =>
        startPage({
          origin: new URL(url.href).origin,
          graphiql,
          exampleBuilt: isBuilt(),
          demo: demoKeyFor(demoKey, state, url),
        }),
      ),
    },
    {
      ...OPEN,
      // The endpoint under its other spelling.
      path: `${PATHS.graphql}/`,
      storable: false,
      async answer({ url }) {
        return moved(PATHS.graphql, url);
      },
    },
    withPage(
      { ...OPEN, path: `${EXAMPLE}*`, answer: forVisitor(options, exampleAnswer()) },
      forVisitor(options, answerNoFile),
    ),
    // Read anew for each request, so that edits show at once.
    withPage(
      { ...OPEN, path: `${DOCS}*`, storable: false, answer: forVisitor(options, answerDocs) },
      forVisitor(options, answerMissing),
    ),
  ];
}
