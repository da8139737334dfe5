import { type Html, html, NOTHING } from '../http/pages/layout.ts';
import { ACCOUNT, OAUTH_METADATA, PATHS } from '../http/routes/table.ts';
import type { HttpResponse } from '../request/http-message.ts';
import type { DemoKey } from '../request/local-request.ts';
import { codeBlock } from './code.ts';
import { DEMO_USERS } from './demo-content.ts';
import { BUILD_EXAMPLE, EXAMPLE } from './example.ts';
import { siteResponse } from './layout.ts';
import { addressOf, DOCS, EXAMPLE_FILES } from './pages.ts';

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
  readonly about: Html | string;
}

/** For visitors without the token. */
const whereTheKeyIs = (
  graphiql: boolean,
) => html`<p class="notice">To have the demo key filled in here${graphiql ? ' and in GraphiQL' : ''}, open the address that the service prints in its terminal when it starts: it ends in <code>?token=…</code> The key itself is printed too, and is in <code>demo.json</code> in the data folder.</p>
`;

const signIn = (hasDemo: boolean): Html =>
  hasDemo
    ? html`Sign in as <code>${DEMO_USERS[0].email}</code> with the demo password that the terminal shows.`
    : html`Sign in with an account of yours: <code>npm run -s admin -- user create --help</code>`;

function placesOf({ graphiql, exampleBuilt, demo }: StartPage): readonly Place[] {
  const explorer = {
    path: PATHS.graphql,
    name: 'GraphiQL',
    about: 'Run the examples, or your own operations.',
  };
  const build = html`Not built yet: type <code>${BUILD_EXAMPLE}</code> in a second terminal, in the folder of the project.`;
  return [
    ...(graphiql ? [explorer] : []),
    {
      path: EXAMPLE,
      name: 'Example',
      about: html`A web page on this API, with a live list. ${exampleBuilt ? signIn(demo !== undefined) : build}`,
    },
    {
      path: ACCOUNT,
      name: 'Account',
      about: html`Name, password, sessions, API keys and applications. ${signIn(demo !== undefined)}`,
    },
    { path: DOCS, name: 'Docs', about: 'Guides, the contract and the reference.' },
    {
      path: addressOf('docs/web-page.md'),
      name: 'Build a web page',
      about: 'From an empty folder to a live list in ten minutes.',
    },
    {
      path: addressOf('docs/api.md'),
      name: 'API reference',
      about: 'Every field with its arguments, scope and cost.',
    },
    { path: `${DOCS}schema.graphql`, name: 'Schema', about: 'Every type, field and argument, as a file.' },
    { path: EXAMPLE_FILES, name: 'Example files', about: 'Recipes for client libraries, made to be copied.' },
    {
      path: OAUTH_METADATA,
      name: 'OAuth metadata',
      about: 'What OAuth libraries read of the authorization server.',
    },
    { path: PATHS.ready, name: 'Health', about: 'Whether the service is ready for requests.' },
    { path: PATHS.metrics, name: 'Metrics', about: 'For Prometheus.' },
  ];
}

/** A page of links, and a first call to copy. */
export function startPage(page: StartPage): HttpResponse {
  const { origin, graphiql, demo } = page;
  const key = typeof demo === 'object' ? demo.apiKey : '<your API key>';
  const call = `curl -s ${origin}${PATHS.graphql} -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"query":"{ posts(limit: 3) { title author { name } } }"}'`;
  return siteResponse({
    title: 'Start',
    wide: true,
    content: html`<h1>Content Graph API</h1>
<p class="lead">Users, posts and comments over GraphQL. Queries, mutations and subscriptions are at <code>${PATHS.graphql}</code>.</p>
${demo === 'hidden' ? whereTheKeyIs(graphiql) : NOTHING}<ul class="cards">
${placesOf(page).map(
  ({ path, name, about }) => html`<li><a href="${path}">${name}</a><p>${about}</p></li>
`,
)}</ul>
<h2>First call</h2>
<p>Paste it into a shell.</p>
${codeBlock(call, 'sh', true)}<p class="small">This page is for development. Production has the API and the account page.</p>`,
  });
}
