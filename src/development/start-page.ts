import { html, NOTHING } from '../http/pages/html.ts';
import { PATHS } from '../http/routes/table.ts';
import type { PlainResponse } from '../request/http-message.ts';
import type { DemoKey } from '../request/local-request.ts';
import { codeBlock } from './code.ts';
import { EXAMPLE } from './example.ts';
import { siteResponse } from './layout.ts';
import { DOCS } from './pages.ts';

export interface StartPage {
  readonly origin: string;
  readonly graphiql: boolean;
  /** Whether the example page is there. */
  readonly exampleBuilt: boolean;
  /** The key in the first call. */
  readonly demo: DemoKey | 'hidden' | undefined;
}

interface Place {
  readonly path: string;
  readonly name: string;
  readonly about: string;
}

/** For visitors without the token. */
const whereTheKeyIs = (
  graphiql: boolean,
) => html`<p class="notice">To have the demo key filled in here${graphiql ? ' and in GraphiQL' : ''}, open the address that the service prints in its terminal when it starts: it ends in <code>?token=…</code> The key itself is printed too, and is in <code>demo.json</code> in the data folder.</p>
`;

/** A page of links, and a first call to copy. */
export function startPage({ origin, graphiql, exampleBuilt, demo }: StartPage): PlainResponse {
  const explorer = {
    path: PATHS.graphql,
    name: 'GraphiQL',
    about: 'Run the examples, or your own operations.',
  };
  const places: readonly Place[] = [
    ...(graphiql ? [explorer] : []),
    {
      path: EXAMPLE,
      name: 'Example',
      about: `A web page on this API, with a live list.${exampleBuilt ? '' : ' “npm run example” builds it.'}`,
    },
    { path: DOCS, name: 'Docs', about: 'Guides, the contract and the reference.' },
    { path: `${DOCS}schema.graphql`, name: 'Schema', about: 'Every type, field and argument.' },
    { path: PATHS.ready, name: 'Health', about: 'Whether the service is ready for requests.' },
    { path: PATHS.metrics, name: 'Metrics', about: 'For Prometheus.' },
  ];
  const key = typeof demo === 'object' ? demo.apiKey : '<your API key>';
  const call = `curl -s ${origin}${PATHS.graphql} -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"query":"{ posts(limit: 3) { title author { name } } }"}'`;
  return siteResponse({
    title: 'Start',
    wide: true,
    content: html`<h1>Content Graph API</h1>
<p class="lead">Users, posts and comments over GraphQL. Queries, mutations and subscriptions are at <code>${PATHS.graphql}</code>.</p>
${demo === 'hidden' ? whereTheKeyIs(graphiql) : NOTHING}<ul class="cards">
${places.map(
  ({ path, name, about }) => html`<li><a href="${path}">${name}</a><p>${about}</p></li>
`,
)}</ul>
<h2>First call</h2>
<p>Paste it into a shell.</p>
${codeBlock(call, 'sh', true)}<p class="small">This page is for development. Production has only the API.</p>`,
  });
}
