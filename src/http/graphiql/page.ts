import type { DemoKey } from '../../request/local-request.ts';
import { type Html, html, ICON, MARK } from '../pages/layout.ts';

/** An operation to try. */
export interface Example {
  /** The name of its operation, which GraphiQL shows as the title of its tab. */
  readonly name: string;
  readonly query: string;
  readonly variables?: string;
}

/** What `browser/page.js` reads from the page. */
export interface Settings {
  readonly endpoint: string;
  /** Shown in the corner, as HTML. */
  readonly title: string;
  /** The text of the headers editor in every tab. */
  readonly headers: string;
  /** The editor that is open beside the operation. */
  readonly tool: 'variables' | 'headers';
  readonly examples: readonly Example[];
}

interface PageOptions {
  readonly endpoint: string;
  /** The folder of the page's assets, with a slash at its end. */
  readonly assets: string;
  readonly examples: readonly Example[];
  /** The page that the title links to. */
  readonly home?: string | undefined;
  /** The key that is filled in. */
  readonly demo: DemoKey | 'hidden' | undefined;
}

const TITLE = 'Content Graph API';

/** Commented out if there is no key: a placeholder would be sent, and refused, with the schema query too. */
function headersFor(demo: DemoKey | 'hidden' | undefined): string {
  const lineFor = (key: string) => `"Authorization": "Bearer ${key}"`;
  if (demo === undefined) return `{\n  // ${lineFor('<your API key>')}\n}`;
  if (demo !== 'hidden') return `{\n  ${lineFor(demo.apiKey)}\n}`;
  return `{
  // To have the demo key filled in, open the
  // address that "npm start" prints: it ends
  // in ?token=… Or paste a key here:
  // ${lineFor('<your API key>')}
}`;
}

/** JSON that cannot end the script element around it (HTML section 4.12.1.3). */
function json(value: unknown): Html {
  return { html: JSON.stringify(value).replaceAll('<', '\\u003c') };
}

export function graphiqlPage({ endpoint, assets, examples, home, demo }: PageOptions): string {
  const name = html`${MARK}<span>${TITLE}</span>`;
  const title =
    home === undefined ? name : html`<a href="${home}" aria-label="${TITLE}: start page">${name}</a>`;
  const settings: Settings = {
    endpoint,
    title: title.html,
    headers: headersFor(demo),
    tool: demo === 'hidden' ? 'headers' : 'variables',
    examples,
  };
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphiQL – ${TITLE}</title>
${ICON}
<link rel="stylesheet" href="${assets}loading.css">
<script defer src="${assets}graphiql.js"></script>
<script type="module" src="${assets}page.js"></script>
<script type="application/json" id="settings">${json(settings)}</script>
</head>
<body class="no-focus-outline">
<main>
<h1>GraphiQL: ${TITLE}</h1>
<div id="root"><p class="loading">Loading GraphiQL…</p></div>
<noscript>GraphiQL needs JavaScript.</noscript>
</main>
<footer id="status"><strong role="status"></strong><span class="facts"></span></footer>
<link rel="stylesheet" href="${assets}graphiql.css">
<link rel="stylesheet" href="${assets}page.css">
</body>
</html>
`.html;
}
