import { type Html, html, NOTHING } from '../../http/pages/html.ts';
import { alertOf } from '../../http/pages/sign-in-form.ts';
import { ACCOUNT } from '../../http/routes/table.ts';
import { ACTION, type Action } from '../actions.ts';

/** Why something was not done: which form asked for it, what it held, and what to tell its owner. */
export interface Problem {
  readonly action: Action;
  readonly given: URLSearchParams;
  readonly problem: string;
}

/** What the fields of a form are shown with. */
export interface Shown {
  /** More attributes of its first field: what is wrong, and that the reader begins there. */
  readonly first: Html;
  /** What it held when it failed. Passwords are not shown again. */
  readonly given: URLSearchParams;
}

const UNTOUCHED: Shown = { first: NOTHING, given: new URLSearchParams() };

/** A form that is posted to the page of the account. */
export const form = (action: Action, content: Html): Html =>
  html`<form method="post" action="${ACCOUNT}"><input type="hidden" name="${ACTION}" value="${action}">
${content}
</form>`;

/** A form of one button that does something to one of several rows. */
export const rowForm = (action: Action, id: string, button: string, of: string): Html =>
  form(
    action,
    html`<input type="hidden" name="id" value="${id}"><button class="small second" aria-label="${button} ${of}">${button}</button>`,
  );

/** A form that opens by its summary, and is open where it has failed. */
export function folded(
  action: Action,
  summary: string,
  failed: Problem | undefined,
  content: (shown: Shown) => Html,
): Html {
  if (failed?.action !== action)
    return html`<details>
<summary>${summary}</summary>
${form(action, content(UNTOUCHED))}
</details>`;
  const first = html` aria-describedby="problem" autofocus`;
  return html`<details open>
<summary>${summary}</summary>
${alertOf(failed.problem)}
${form(action, content({ first, given: failed.given }))}
</details>`;
}

/** Asks for the password again. `attributes`: more of the input's. */
export const passwordAgain = (id: string, attributes: Html): Html =>
  html`<label for="${id}">Your password</label>
<input id="${id}" name="currentPassword" type="password" autocomplete="current-password" required${attributes}>`;
