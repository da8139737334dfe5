import { html, nothing, type TemplateResult } from 'lit-html';
import type { Pause, Problem } from '../api/problem.ts';

const countdown = (untilMs: number) => html`<count-down .until=${untilMs}></count-down>`;

/** Tells what went wrong. If the page goes on by itself, it says when; otherwise `retry` is a button. */
export function problemNotice(problem: Problem, retry?: () => void): TemplateResult {
  const { message, retryAtMs } = problem;
  return html`<div class="notice bad" role="alert" data-problem=${problem.kind}>
    <p>${message} ${retryAtMs === undefined ? nothing : html`Goes on by itself in ${countdown(retryAtMs)}.`}</p>
    ${retry === undefined || retryAtMs !== undefined ? nothing : html`<button type="button" class="small" @click=${retry}>Try again</button>`}
  </div>`;
}

function reasonOf(status: number | undefined): string {
  if (status === 429) return 'Too many requests.';
  if (status === 409) return 'The service is still working on it.';
  return status === undefined ? 'No answer yet.' : 'The service is busy or restarting.';
}

/** Tells that a request is repeated. */
export function pauseNotice({ untilMs, status }: Pause): TemplateResult {
  return html`<div class="notice" role="status" data-pause=${status ?? 'unanswered'}>
    <p>${reasonOf(status)} Your text is kept and sent again in ${countdown(untilMs)}.</p>
  </div>`;
}
