import { PASSWORD } from '../../auth/accounts.ts';
import { EMPTY_HTML, type Html, html, layout } from '../../http/html/page.ts';
import { alertOf } from '../../http/html/sign-in.ts';
import { ACCOUNT } from '../../http/routes/table.ts';
import type { Link } from './links.ts';

/** What the forms of the account page ask for. */
export const ACTIONS = [
  'sign-in',
  'sign-out',
  'rename',
  'change-password',
  'end-session',
  'create-key',
  'revoke-key',
  'revoke-grant',
  'download',
  'revoke-everything',
] as const;
export type Action = (typeof ACTIONS)[number];

/** The field of each form that says it. */
export const ACTION = 'do';

export const isAction = (text: string | null): text is Action =>
  (ACTIONS as readonly (string | null)[]).includes(text);

/** The query parameter by which the page tells what has been done. */
export const DONE = 'done';

/** Why something was not done: which form asked for it, what it held, and what to tell its owner. */
export interface Problem {
  readonly action: Action;
  readonly given: URLSearchParams;
  readonly problem: string;
  /** The field that is wrong, by the name of the API's argument; undefined if it is none alone. */
  readonly field?: string | undefined;
}

interface FieldOptions {
  /** Whether it is the first one of its form. */
  readonly first?: boolean;
  /** The id of the text that says what may be in it. */
  readonly rule?: string;
}

/** The state of the fields of a form. */
export interface FieldState {
  /** More attributes of a field: what describes it, that it is wrong, and that the reader begins there. */
  attributes(field: string, options?: FieldOptions): Html;
  /** What it held when it failed. Passwords are not shown again. */
  readonly given: URLSearchParams;
}

/** The state of a form that has failed, or that was not sent yet. */
function createFieldState(problem: Problem | undefined): FieldState {
  return {
    given: problem?.given ?? new URLSearchParams(),
    attributes(field, { first = false, rule } = {}) {
      const isWrong = problem?.field === field;
      const begins = isWrong || (first && problem !== undefined && problem.field === undefined);
      const describing = [begins ? 'problem' : undefined, rule].filter((id) => id !== undefined).join(' ');
      return html`${isWrong ? html` aria-invalid="true"` : EMPTY_HTML}${begins ? html` autofocus` : EMPTY_HTML}${
        describing === '' ? EMPTY_HTML : html` aria-describedby="${describing}"`
      }`;
    },
  };
}

/** A form that is posted to the account page. */
export const form = (action: Action, content: Html): Html =>
  html`<form method="post" action="${ACCOUNT}"><input type="hidden" name="${ACTION}" value="${action}">
${content}
</form>`;

/** A form of one button that does something to one of several rows, which is described by the text of that id. */
export const rowForm = (action: Action, id: string, button: string, of: string): Html =>
  form(
    action,
    html`<input type="hidden" name="id" value="${id}"><button class="small second" aria-label="${button} ${of}" aria-describedby="row-${id}">${button}</button>`,
  );

/** A form that opens by its summary, and is open if it has failed. */
export function collapsibleForm(
  action: Action,
  summary: string,
  failed: Problem | undefined,
  content: (field: FieldState) => Html,
): Html {
  const problem = failed?.action === action ? failed : undefined;
  return html`<details${problem === undefined ? EMPTY_HTML : html` open`}>
<summary>${summary}</summary>
${alertOf(problem?.problem)}
${form(action, content(createFieldState(problem)))}
</details>`;
}

/** Asks for the password again. It names the account to password managers, which would take another field for it. */
export const passwordAgain = (
  id: string,
  email: string,
  { attributes }: FieldState,
  label = 'Your password',
): Html =>
  html`<input type="text" autocomplete="username" aria-label="E-mail" value="${email}" readonly hidden>
<label for="${id}">${label}</label>
<input id="${id}" name="currentPassword" type="password" autocomplete="current-password" required${attributes('currentPassword', { first: true })}>`;

export const TWO_DIFFER = 'The two passwords differ. Enter the same password twice.';

/** The fields for a new password: `name`, and `again`. `attributes`: more of the first one's. */
export const newPasswordFields = (name: string, attributes: Html): Html =>
  html`<label for="new-password">New password</label>
<input id="new-password" name="${name}" type="password" autocomplete="new-password" required minlength="${String(PASSWORD.min)}"${attributes}>
<p class="soft" id="rule">${String(PASSWORD.min)} to ${String(PASSWORD.max)} characters, and not a commonly used password.</p>
<label for="again">Repeat the new password</label>
<input id="again" name="again" type="password" autocomplete="new-password" required>`;

/** Where a person sets the password of an account. The form is posted to the address of the page itself. */
export function passwordPage({ kind, name, email }: Link, problem?: string): string {
  const attributes = html` autofocus aria-describedby="rule${problem === undefined ? '' : ' problem'}"`;
  const title = kind === 'invite' ? 'Welcome' : 'Set a new password';
  const first =
    kind === 'invite'
      ? html`<h1>Welcome, ${name}</h1>
<p>Choose the password of your new account.</p>`
      : html`<h1>Set a new password</h1>
<p>A new password revokes all sessions and the access of all applications.</p>`;
  return layout({
    title: problem === undefined ? title : `${title}: error`,
    content: html`${first}
${alertOf(problem)}
<form method="post">
<label for="email">E-mail</label>
<input id="email" type="email" name="email" autocomplete="username" readonly value="${email}">
${newPasswordFields('password', attributes)}
<div class="actions"><button type="submit">Set the password</button></div>
</form>`,
  });
}

/** The page after a password was set. */
export function passwordSetPage(): string {
  return layout({
    title: 'Your password is set',
    content: html`<h1>Your password is set</h1>
<p>Sign in with your email address and the new password. The link is no longer valid.</p>
<div class="actions"><a class="button" href="${ACCOUNT}">Sign in</a></div>`,
  });
}

/** For a link that does not exist, or is no longer valid. */
export function voidLinkPage(): string {
  return layout({
    title: 'This link is not valid',
    content: html`<h1>This link is not valid</h1>
<p>A link is valid once and for one day, and a newer link replaces it. If you have just set your password, sign in with the new password. Otherwise ask the sender for a new link.</p>`,
  });
}
