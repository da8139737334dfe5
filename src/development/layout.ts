import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { COLOURS, type Html, html, ICON, MARK, NOTHING } from '../http/pages/layout.ts';
import { HOME, PATHS } from '../http/routes/table.ts';
import { HttpResponse } from '../request/http-message.ts';
import { CODE_STYLE } from './code-style.ts';
import { DOCS } from './pages.ts';
import { searchForm } from './search-form.ts';
import { STYLE } from './style.ts';

const CSS = COLOURS + STYLE + CODE_STYLE;
const SCRIPT = readFileSync(new URL('browser/copy.js', import.meta.url), 'utf8');
const sourceOf = (text: string) => `'sha256-${hash('sha256', text, 'base64')}'`;

/** One style sheet and one script, by their hashes (CSP level 3, section 6.7.3.3), and the pictures of this origin. */
const POLICY = [
  "default-src 'none'",
  `style-src ${sourceOf(CSS)}`,
  "img-src 'self' data:",
  `script-src ${sourceOf(SCRIPT)}`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** In the header of each page. */
export const GRAPHIQL = html`<a href="${PATHS.graphql}">GraphiQL</a>`;

export interface SitePage {
  readonly title: string;
  readonly content: Html;
  /** Whether the content is more than text, and takes the whole width. */
  readonly wide?: boolean;
  /** Beside the content, or above it where there is little room. */
  readonly aside?: Html;
  readonly status?: number;
  /** What is looked for. */
  readonly query?: string;
}

function document({ title, content, wide = false, aside = NOTHING, query }: SitePage): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Content Graph API</title>
${ICON}
${{ html: `<style>${CSS}</style>` }}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="${HOME}">${MARK}<span>Content Graph API</span></a>
${searchForm(query)}<nav aria-label="Site"><a href="${DOCS}">Docs</a>${GRAPHIQL}</nav>
</header>
<div class="page">
${aside}
<main id="content" tabindex="-1"${wide ? html` class="wide"` : NOTHING}>
${content}
</main>
</div>
${{ html: `<script type="module">${SCRIPT}</script>` }}
</body>
</html>
`.html;
}

export function siteResponse(page: SitePage): HttpResponse {
  return new HttpResponse(document(page), {
    status: page.status ?? 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': POLICY,
      'referrer-policy': 'same-origin',
    },
  });
}

/** With the query of the address asked for. Not to be kept: a browser would follow it at whatever runs on this port next. */
export function moved(path: string, asked = '', hash = ''): HttpResponse {
  const query = asked.indexOf('?');
  const location = path + (query < 0 ? '' : asked.slice(query)) + hash;
  return new HttpResponse('', { status: 308, headers: { location, 'cache-control': 'no-store' } });
}
