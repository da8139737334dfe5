import { hash } from 'node:crypto';
import { toErrorResponse } from '../../engine/core/mask-error.ts';
import type { Route } from '../exchange.ts';
import { type HttpRequest, HttpResponse } from '../message.ts';

/** The string is safe to embed in a page. */
export interface Html {
  readonly html: string;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Undefined and false are empty. */
type Part = Html | string | readonly Html[] | undefined | false;

function textOf(part: Part): string {
  if (part === undefined || part === false) return '';
  if (typeof part === 'string') return part.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
  return 'html' in part ? part.html : part.map(({ html }) => html).join('');
}

/** Interpolated strings are escaped for elements and for quoted attributes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: strings.reduce((whole, next, index) => whole + textOf(parts[index - 1]) + next) };
}

const COLOURS = `
:root { color-scheme: light dark; --ink: #17212b; --soft: #52606d; --line: #d3dae1; --edge: #7b8794; --paper: #fff; --ground: #f1f4f7; --act: #0b5fb0; --act-over: #094c8d; --on-act: #fff; --tint: #eef4fb; --good: #18794e; --bad: #a4161a; --bad-tint: #fdf0f0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --soft: #a9b6c3; --line: #36424f; --edge: #76889a; --paper: #1a222b; --ground: #10161d; --act: #79b8ff; --act-over: #a5d0ff; --on-act: #06182b; --tint: #202c38; --good: #6fd3a2; --bad: #ff9c9c; --bad-tint: #33201f; } }
`;

const STYLE = `${COLOURS}
* { box-sizing: border-box; }
body { margin: 0; padding: 1.5rem 1rem 3rem; min-height: 100vh; display: grid; grid-template-columns: minmax(0, 28rem); place-content: start center; gap: 1rem; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
@media (min-width: 40rem) and (min-height: 50rem) { body { padding-top: 12vh; } }
header { display: flex; align-items: center; justify-content: center; gap: .5rem; font-weight: 600; color: var(--soft); }
header svg { width: 1.5rem; height: 1.5rem; fill: none; stroke: var(--act); stroke-width: 2; }
main { padding: 1.75rem 1.5rem; background: var(--paper); border: 1px solid var(--line); border-radius: 1rem; box-shadow: 0 1px 2px rgb(0 0 0 / 6%), 0 8px 24px rgb(0 0 0 / 6%); overflow-wrap: anywhere; }
@media (min-width: 40rem) { main { padding: 2rem; } }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; text-wrap: balance; }
h2 { margin: 1.5rem 0 .5rem; font-size: 1rem; }
p { margin: .5rem 0 0; }
code { padding: .1em .3em; border-radius: .25rem; background: var(--tint); font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: .5rem 0 0; padding: .875rem 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--ground); white-space: pre-wrap; user-select: all; }
pre code { padding: 0; background: none; }
label { display: block; margin-top: 1.125rem; font-weight: 600; }
input, select, textarea { display: block; width: 100%; min-height: 2.875rem; margin-top: .25rem; padding: .5rem .75rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--edge); border-radius: .5rem; }
[hidden] { display: none; }
[aria-invalid="true"] { border-color: var(--bad); scroll-margin-top: 36rem; }
button { display: block; width: 100%; min-height: 2.875rem; padding: .5rem 1rem; font: inherit; font-weight: 600; border: 1px solid var(--act); border-radius: .5rem; background: var(--act); color: var(--on-act); cursor: pointer; }
button:hover { background: var(--act-over); border-color: var(--act-over); }
button.second { background: transparent; border-color: var(--edge); color: var(--ink); }
button.second:hover { background: var(--tint); }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
a { color: var(--act); }
.soft { color: var(--soft); font-size: .875rem; }
.soft strong { color: var(--ink); }
.problem { margin-top: 1.25rem; padding: .75rem 1rem; border-left: 4px solid var(--bad); border-radius: .5rem; background: var(--bad-tint); color: var(--bad); }
.account { display: grid; grid-template-columns: auto minmax(0, 1fr); align-items: center; column-gap: .75rem; margin-top: 1.25rem; padding: .75rem; border: 1px solid var(--line); border-radius: .75rem; }
.account p { margin: 0; line-height: 1.35; }
.initial { display: grid; place-items: center; width: 2.5rem; height: 2.5rem; border-radius: 50%; background: var(--tint); color: var(--act); font-weight: 700; }
.scopes { margin: 0; padding: 0; list-style: none; }
.scopes li { display: grid; grid-template-columns: 1.25rem minmax(0, 1fr); gap: .625rem; padding: .5rem 0; border-top: 1px solid var(--line); }
.scopes li:first-child { border-top: 0; }
.scopes svg { width: 1.25rem; height: 1.25rem; margin-top: .125rem; fill: none; stroke: var(--good); stroke-width: 2.5; stroke-linecap: round; stroke-linejoin: round; }
.done { margin-top: 1.25rem; padding: .75rem 1rem; border-left: 4px solid var(--good); border-radius: .5rem; background: var(--tint); }
.top { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 1rem; align-items: start; }
.wide { grid-template-columns: minmax(0, 42rem); padding-top: 1.5rem; }
section { margin-top: 1.75rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
section h2 { margin: 0; font-size: 1.125rem; }
.rows { margin: .75rem 0 0; padding: 0; list-style: none; }
.rows > li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .25rem 1rem; align-items: start; padding: .75rem 0; border-top: 1px solid var(--line); }
@media (max-width: 30rem) { .rows > li { grid-template-columns: minmax(0, 1fr); gap: .75rem; } }
.text { white-space: pre-wrap; }
.plain { margin: .375rem 0 0; padding-left: 1.125rem; }
.badge { padding: .125rem .5rem; border-radius: 1rem; background: var(--tint); color: var(--act); font-size: .8125rem; font-weight: 600; white-space: nowrap; }
.small { width: auto; min-height: 2.5rem; padding: .25rem .875rem; font-size: .875rem; }
details { margin-top: .75rem; }
summary { width: fit-content; padding: .5rem 0; color: var(--act); font-weight: 600; cursor: pointer; }
details[open] { padding-bottom: .5rem; }
fieldset { margin: 1.125rem 0 0; padding: 0; border: 0; }
legend { padding: 0; font-weight: 600; }
.check { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .75rem; align-items: start; margin: 0; padding: .5rem 0; font-weight: 400; }
.check input { width: 1.25rem; min-height: 1.25rem; margin: .125rem 0 0; }
.danger { background: var(--bad); border-color: var(--bad); color: var(--paper); }
.danger:hover { background: var(--ink); border-color: var(--ink); }
a.button { display: grid; place-items: center; min-height: 2.875rem; padding: .5rem 1rem; border-radius: .5rem; background: var(--act); color: var(--on-act); font-weight: 600; text-decoration: none; }
.actions { display: grid; gap: .75rem; margin-top: 1.5rem; }
@media (min-width: 40rem) { .actions.pair { grid-template-columns: 1fr 1fr; } }
`;

/** The CSP allows exactly this style sheet by its hash (CSP Level 3 §6.7.3.3). */
const STYLE_HASH = `'sha256-${hash('sha256', STYLE, 'base64')}'`;

interface HtmlPage {
  readonly title: string;
  readonly content: Html;
  readonly head?: Html;
  readonly wide?: boolean;
}

export const MARK = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M7 8l5 8M17 8l-5 8M8 6h8"/><circle cx="6" cy="6" r="2.5"/><circle cx="18" cy="6" r="2.5"/><circle cx="12" cy="18" r="2.5"/></svg>`;

const ICON_SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="2 2 20 20" fill="none" stroke="#2f7fd1" stroke-width="2">${MARK.html.replace(/^<svg[^>]*>/, '')}`;

export const ICON = html`<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON_SVG)}">`;

/** The page needs no script and loads nothing. */
export function layout({ title, content, head, wide = false }: HtmlPage): string {
  const style: Html = { html: `<style>${STYLE}</style>` };
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Content Graph API</title>
${style}${head}
</head>
<body${wide && html` class="wide"`}>
<header>${MARK}Content Graph API</header>
<main>
${content}
</main>
</body>
</html>
`.html;
}

export interface HtmlPageOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Browsers apply the form policy to redirects, too, so the policy needs the final target. */
  readonly redirectUri?: string | undefined;
  readonly errorCodes?: readonly string[];
}

const LOOPBACK_TARGETS = 'http://127.0.0.1:* http://localhost:*';

/**
 * Returns the CSP sources of form targets. Browsers check every redirect that follows, and the redirects of the
 * application are unknown here. So the policy allows every HTTPS URL, and the user's machine if the application runs
 * there.
 */
function formTargets(redirectUri: string): string {
  const { protocol, hostname } = new URL(redirectUri);
  if (protocol === 'https:') return 'https:';
  if (protocol !== 'http:') return `https: ${protocol}`;
  // The source grammar has no IPv6 addresses (CSP Level 3 §2.3.1).
  return hostname.startsWith('[') ? 'https: http:' : `https: ${LOOPBACK_TARGETS}`;
}

/** The page may use its styles and submit its forms, and cannot be framed. */
function policy(redirectUri: string | undefined): string {
  const targets = redirectUri === undefined ? '' : ` ${formTargets(redirectUri)}`;
  return [
    "default-src 'none'",
    `style-src ${STYLE_HASH}`,
    `form-action 'self'${targets}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

export function pageHeaders(redirectUri?: string): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy(redirectUri),
    'x-frame-options': 'DENY',
    // A page that opened this page in a window must not get a handle of that window (HTML §7.1.3).
    'cross-origin-opener-policy': 'same-origin',
    // With "no-referrer", browsers would withhold the Origin of form posts, which the service checks.
    'referrer-policy': 'same-origin',
  };
}

/** Redirects a browser after a form post to another page of the service (RFC 9110 §15.4.4). */
export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}) =>
  new HttpResponse('', { status: 303, headers: { location, 'referrer-policy': 'same-origin', ...headers } });

export function pageResponse(text: string, { headers, redirectUri, ...options }: HtmlPageOptions = {}) {
  return new HttpResponse(text, { ...options, headers: { ...pageHeaders(redirectUri), ...headers } });
}

/** The query parameter shows that a page of the service led here. */
const FROM_HERE = 'from-here';

/**
 * Reloads `path` for a visitor from another site who seems to be signed out. A link from another site comes without
 * the session's SameSite=Strict cookie. A navigation from a page of the service has the cookie.
 * @returns undefined for every other request
 */
export function redirectSameSite({ headers, url }: HttpRequest, path: string): HttpResponse | undefined {
  if (headers.get('sec-fetch-site') !== 'cross-site' || new URL(url).searchParams.has(FROM_HERE))
    return undefined;
  const onwards = `${path}${path.includes('?') ? '&' : '?'}${FROM_HERE}`;
  return pageResponse(
    layout({
      title: 'One moment',
      head: html`<meta http-equiv="refresh" content="0; url=${onwards}">`,
      content: html`<h1>One moment</h1>
<p><a href="${onwards}">Continue</a></p>`,
    }),
  );
}

interface ErrorPage {
  readonly title: string;
  readonly message: string;
  readonly detail?: string | undefined;
  readonly requestId: string;
  readonly onwards?: Html | undefined;
}

export function errorPage({ title, message, detail, requestId, onwards }: ErrorPage): string {
  return layout({
    title,
    content: html`<h1>${title}</h1>
<p>${message}</p>
${detail !== undefined && html`<p class="soft">Technical details: ${detail}</p>`}${onwards && html`<p>${onwards}</p>`}
<p class="soft">Request ${requestId}</p>`,
  });
}

function titleOf(status: number): string {
  if (status === 404) return 'Page not found';
  return status < 500 ? 'Unable to continue' : 'Something went wrong';
}

export const pageErrorsTo =
  (onwards?: Html): Route['errors'] =>
  (error, { requestId }, log) => {
    const { code, status, headers, message } = toErrorResponse(error, { requestId, log });
    const title = titleOf(status);
    return pageResponse(errorPage({ title, message, requestId, onwards }), {
      status,
      headers,
      errorCodes: [code],
    });
  };

/** Pages that are steps of a longer flow have no link. */
export const pageErrors = pageErrorsTo();
