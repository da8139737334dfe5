import { type Html, html, layout, pageResponse } from '../../http/html/page.ts';
import { type DemoKey, withToken } from '../../http/local-request.ts';
import { ACCOUNT, OAUTH_METADATA, PATHS } from '../../http/routes/table.ts';
import { DEMO_EMAIL } from './demo-data.ts';
import { BUILD_EXAMPLE, EXAMPLE } from './example.ts';

export interface StartPage {
  readonly origin: string;
  readonly graphiql: boolean;
  readonly exampleBuilt: boolean;
  readonly demo: DemoKey | 'hidden' | undefined;
}

const row = (name: Html, about: Html | string) => html`<li><div>${name}<p class="soft">${about}</p></div></li>
`;
const link = (path: string, name: string) => html`<a href="${path}">${name}</a>`;
const file = (path: string, about: string) => row(html`<code>${path}</code>`, about);

const FILES = [
  file('README.md', 'The overview, a tour of five minutes, and a list of all guides.'),
  file(
    'docs/get-started/tutorial-web-page.md',
    'From an empty folder to a page with a live list in ten minutes.',
  ),
  file(
    'docs/reference/api.md',
    'Every query, mutation, subscription and type, with arguments, scopes and costs.',
  ),
  file('docs/reference/guarantees.md', 'What the service guarantees.'),
  file('schema.graphql', 'The schema, for tools.'),
  file('examples/', 'Examples for each client library.'),
];

function findPlaces({ graphiql, exampleBuilt, demo }: StartPage): readonly Html[] {
  const token = withToken(typeof demo === 'object' ? demo.pageToken : undefined);
  const signIn =
    demo === undefined
      ? html`Sign in with your own account: <code>npm run -s admin -- user create --help</code>`
      : html`Sign in as <code>${DEMO_EMAIL}</code> with the demo password that the terminal shows.`;
  const build = html`Run <code>${BUILD_EXAMPLE}</code> in a second terminal to build it.`;
  return [
    ...(graphiql
      ? [row(link(PATHS.graphql + token, 'GraphiQL'), 'An editor with examples and the schema.')]
      : []),
    row(
      link(EXAMPLE + token, 'Example'),
      html`A web page on this API, with a live list. ${exampleBuilt ? signIn : build}`,
    ),
    row(link(ACCOUNT, 'Account'), html`Name, password, sessions, API keys and applications. ${signIn}`),
    row(link(PATHS.ready, 'Health'), 'Tells whether the service is ready for requests.'),
    row(link(PATHS.metrics, 'Metrics'), 'For Prometheus.'),
    row(link(OAUTH_METADATA, 'OAuth metadata'), 'The authorization server, for OAuth libraries.'),
  ];
}

/** Links all pages that a browser can open, and shows a first request to paste. */
export function startPage(page: StartPage) {
  const { origin, demo, graphiql } = page;
  const pages = graphiql ? 'this page and GraphiQL' : 'this page';
  const key = typeof demo === 'object' ? demo.apiKey : '<your API key>';
  const call = `curl -s ${origin}${PATHS.graphql} -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"query":"{ posts(limit: 3) { title author { name } } }"}'`;
  const notice = html`<p class="done">The demo key is filled in on ${pages} if you open the URL that the service prints when it starts. The URL ends in <code>?token=…</code></p>
`;
  return pageResponse(
    layout({
      title: 'Start',
      wide: true,
      content: html`<h1>The service is running</h1>
<p>Users, posts and comments over GraphQL. Queries, mutations and subscriptions are at <code>${PATHS.graphql}</code>.</p>
${demo === 'hidden' && notice}<ul class="rows">
${findPlaces(page)}</ul>
<section>
<h2>First call</h2>
<p>Click the command to select it, copy it, and paste it into a shell.</p>
<pre tabindex="0"><code>${call}</code></pre>
</section>
<section>
<h2>Documentation</h2>
<p>Open these files in the folder of the project.</p>
<ul class="rows">
${FILES}</ul>
</section>
<p class="soft">This page exists in development only.</p>`,
    }),
    { headers: { 'cache-control': 'no-store' } },
  );
}
