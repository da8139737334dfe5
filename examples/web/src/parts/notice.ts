import type { ContentGraphError, LiveList } from 'content-graph-client';
import { html, nothing, type TemplateResult } from 'lit-html';
import { API_ORIGIN } from '../api/client.ts';
import type { Failure } from '../api/failure.ts';

const BUSY = 'The service is busy or restarting.';
const TOO_MANY = 'Too many requests.';

const BY_CODE: Partial<Record<ContentGraphError['code'], string>> = {
  UNAUTHENTICATED: 'You are no longer signed in. Sign in to go on.',
  NOT_FOUND: 'It does not exist. It may have been deleted.',
  CONFLICT: 'Nothing is saved: it has changed since you read it.',
  IDEMPOTENCY_IN_PROGRESS: 'The service is still working on it.',
  INTENT_EXPIRED:
    'You sent this more than 23 hours ago. Look whether it was saved, and discard it here before you send it again.',
};

/** No response, one that broke off, or one that the browser withholds because CORS rejects the page's origin. */
function describeSilence(): string {
  if (!navigator.onLine) return 'You are offline.';
  const rejected = API_ORIGIN === '' ? '' : `, or does not have ${location.origin} in CORS_ORIGINS`;
  return `The service does not answer${rejected}.`;
}

/** An error in words for a person: its status first, because a proxy may have sent it. */
export function describeError({ code, httpStatus = 0, message }: ContentGraphError): string {
  if (code === 'NETWORK_ERROR') return describeSilence();
  if (httpStatus === 429) return TOO_MANY;
  if (httpStatus === 408 || (httpStatus >= 502 && httpStatus <= 504)) return BUSY;
  if (code === 'UNEXPECTED_RESPONSE' && httpStatus > 0)
    return `This is not an answer of the service: something on the way has answered with status ${httpStatus}.`;
  return BY_CODE[code] ?? (code === 'FORBIDDEN' ? `You may not do this. ${message}` : message);
}

const countdown = (untilMs: number) => html`<count-down .until=${untilMs}></count-down>`;

/** Tells what went wrong. If the page goes on by itself, it says when; otherwise `retry` is a button. */
export function failureNotice(
  { error, retryAtMs }: Failure,
  retry?: () => void,
  message = describeError(error),
): TemplateResult {
  return html`<div class="notice bad" role="alert" data-error=${error.code}>
    <p>${message} ${retryAtMs === undefined ? nothing : html`Goes on by itself in ${countdown(retryAtMs)}.`}</p>
    ${retry === undefined || retryAtMs !== undefined ? nothing : html`<button type="button" class="small" @click=${retry}>Try again</button>`}
  </div>`;
}

/** Tells why a list could not be read. */
export function listNotice(
  { error, retryAtMs }: LiveList<unknown>,
  retry: () => void,
): TemplateResult | typeof nothing {
  return error === undefined ? nothing : failureNotice({ error, retryAtMs }, retry);
}

/** Tells that a request is repeated. */
export function pauseNotice({ error, retryAtMs = 0 }: Failure): TemplateResult {
  const reason = error.code === 'NETWORK_ERROR' ? 'No answer yet.' : describeError(error);
  return html`<div class="notice" role="status">
    <p>${reason} Your text is kept and sent again in ${countdown(retryAtMs)}.</p>
  </div>`;
}
