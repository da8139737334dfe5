import { hash } from 'node:crypto';
import { type Html, html, NOTHING } from '../http/pages/html.ts';
import { COLOURS, ICON, MARK } from '../http/pages/layout.ts';
import { HOME, PATHS } from '../http/routes/table.ts';
import { PlainResponse } from '../request/http-message.ts';
import { DOCS } from './pages.ts';
import { STYLE } from './style.ts';

const CSS = COLOURS + STYLE;

/** One style sheet, by its hash (CSP level 3, section 6.6.4.3), and the pictures of this origin. No script. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', CSS, 'base64')}'`,
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface SitePage {
  readonly title: string;
  readonly content: Html;
  /** Whether the content is more than text, and takes the whole width. */
  readonly wide?: boolean;
  /** Beside the content, or above it where there is little room. */
  readonly aside?: Html;
}

function document({ title, content, wide = false, aside = NOTHING }: SitePage): string {
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
<nav aria-label="Site"><a href="${DOCS}">Docs</a><a href="${PATHS.graphql}">GraphiQL</a></nav>
</header>
<div class="page">
${aside}
<main id="content" tabindex="-1"${wide ? html` class="wide"` : NOTHING}>
${content}
</main>
</div>
</body>
</html>
`.html;
}

export function siteResponse(page: SitePage): PlainResponse {
  return new PlainResponse(document(page), {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': POLICY,
      'referrer-policy': 'same-origin',
    },
  });
}

/** Not to be kept: a browser would follow it at whatever runs on this port next. */
export function moved(location: string): PlainResponse {
  return new PlainResponse('', { status: 308, headers: { location, 'cache-control': 'no-store' } });
}
