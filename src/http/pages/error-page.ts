import { publicRefusal } from '../../graphql/mask-error.ts';
import type { Route } from '../../request/request-state.ts';
import { type Html, html, NOTHING } from './html.ts';
import { layout } from './layout.ts';
import { pageResponse } from './page-response.ts';

export interface ErrorPage {
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
