import { publicRefusal } from '../../graphql/mask-error.ts';
import { type HttpRequest, HttpResponse } from '../../request/http-message.ts';
import type { Route } from '../../request/request-state.ts';
import { type Html, html, layout, NOTHING, STYLE_HASH } from './layout.ts';

export interface PageOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where submitting a form of the page may finally lead. Browsers apply the policy to redirects too. */
  readonly redirectUri?: string | undefined;
}

const LOOPBACK_TARGETS = 'http://127.0.0.1:* http://localhost:*';

/**
 * Where submitting a form may lead, as sources of a Content-Security-Policy. Browsers check every redirect
 * that follows, including the application's own, whose targets are unknown here. So the policy allows any TLS
 * address, and everything on the user's own machine if the application runs there.
 */
function formTargets(redirectUri: string): string {
  const { protocol, hostname } = new URL(redirectUri);
  if (protocol === 'https:') return 'https:';
  if (protocol !== 'http:') return `https: ${protocol}`;
  // The source grammar has no IPv6 addresses (CSP level 3, section 2.3.1).
  return hostname.startsWith('[') ? 'https: http:' : `https: ${LOOPBACK_TARGETS}`;
}

/**
 * The Content-Security-Policy of a page: it may use its styles and submit its forms, and cannot be framed.
 */
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
    // A page that has opened this one in a window has no handle of it (HTML section 7.1.3).
    'cross-origin-opener-policy': 'same-origin',
    // Not "no-referrer": browsers would then withhold the Origin of form posts, which is checked.
    'referrer-policy': 'same-origin',
  };
}

/** Leads a browser on after a form (RFC 9110 section 15.4.4). Whatever follows is a page of the service, too. */
export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}) =>
  new HttpResponse('', { status: 303, headers: { location, 'referrer-policy': 'same-origin', ...headers } });

export function pageResponse(text: string, { status = 200, headers = {}, redirectUri }: PageOptions = {}) {
  return new HttpResponse(text, { status, headers: { ...pageHeaders(redirectUri), ...headers } });
}

/** A query parameter: one of our own pages led here. */
const FROM_HERE = 'from-here';

/**
 * For somebody whom another site has led to `path`, and who seems to be signed out: a page that goes on by itself. A link
 * from another site comes without the session's SameSite=Strict cookie; a navigation from one of our own pages carries it.
 * Undefined for everybody else.
 */
export function pauseFor({ headers, url }: HttpRequest, path: string): HttpResponse | undefined {
  if (headers.get('sec-fetch-site') !== 'cross-site' || new URL(url).searchParams.has(FROM_HERE))
    return undefined;
  const onwards = `${path}?${FROM_HERE}`;
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
  /** What happened and what to do, for the user. */
  readonly message: string;
  /** The OAuth error, for the application's developers. */
  readonly detail?: string | undefined;
  readonly requestId: string;
  /** Where to go on. */
  readonly onwards?: Html | undefined;
}

export function errorPage({ title, message, detail, requestId, onwards }: ErrorPage): string {
  const technical = detail === undefined ? NOTHING : html`<p class="soft">Technical details: ${detail}</p>`;
  return layout({
    title,
    content: html`<h1>${title}</h1>
<p>${message}</p>
${technical}${onwards === undefined ? NOTHING : html`<p>${onwards}</p>`}
<p class="soft">Request ${requestId}</p>`,
  });
}

function titleOf(status: number): string {
  if (status === 404) return 'There is no such page';
  return status < 500 ? 'Unable to continue' : 'Something went wrong';
}

/** The form of refusals of pages for users: pages too, which lead on. */
export const pageErrorsTo =
  (onwards?: Html): Route['errors'] =>
  (error, state, log) => {
    const { requestId } = state;
    const { code, status, headers, message } = publicRefusal(error, { requestId, log });
    state.errorCodes = [code];
    const title = titleOf(status);
    return pageResponse(errorPage({ title, message, requestId, onwards }), { status, headers });
  };

/** The same, for pages that are met on the way to somewhere else. */
export const pageErrors = pageErrorsTo();
