import { PASSWORD } from '../../auth/accounts.ts';
import { type Html, html, layout } from '../../http/html/page.ts';
import { alertOf } from '../../http/html/sign-in.ts';
import { ACCOUNT } from '../../http/routes/table.ts';
import type { Link } from './links.ts';

export const ACTIONS = [
  'sign-in',
  'sign-out',
  'update-profile',
  'change-password',
  'end-session',
  'create-key',
  'revoke-key',
  'revoke-grant',
  'unlink-identity',
  'download',
  'revoke-everything',
] as const;
export type Action = (typeof ACTIONS)[number];

/** Each form names its action in this field. */
export const ACTION = 'do';

export const isAction = (text: string | null): text is Action =>
  (ACTIONS as readonly (string | null)[]).includes(text);

/** The redirect after a success names the action in this query parameter. */
export const DONE = 'done';

export interface Problem {
  readonly action: Action;
  readonly given: URLSearchParams;
  readonly problem: string;
  /** The wrong field, by the name of the API's argument; undefined if no single field is wrong. */
  readonly field?: string | undefined;
}

interface FieldOptions {
  readonly first?: boolean;
  /** The id of the element that describes the valid values. */
  readonly rule?: string;
}

export interface FieldState {
  attributes(field: string, options?: FieldOptions): Html;
  /** The values of the failed form. Passwords are not shown again. */
  readonly given: URLSearchParams;
}

function createFieldState(problem: Problem | undefined): FieldState {
  return {
    given: problem?.given ?? new URLSearchParams(),
    attributes(field, { first = false, rule } = {}) {
      const isWrong = problem?.field === field;
      const begins = isWrong || (first && problem !== undefined && problem.field === undefined);
      const describing = [begins ? 'problem' : undefined, rule].filter((id) => id !== undefined).join(' ');
      return html`${isWrong && html` aria-invalid="true"`}${begins && html` autofocus`}${describing !== '' && html` aria-describedby="${describing}"`}`;
    },
  };
}

export const form = (action: Action, content: Html): Html =>
  html`<form method="post" action="${ACCOUNT}"><input type="hidden" name="${ACTION}" value="${action}">
${content}
</form>`;

/** A form with one button for a row. The text of the element with the id `of` describes the button. */
export const rowForm = (action: Action, id: string, button: string, of: string): Html =>
  form(
    action,
    html`<input type="hidden" name="id" value="${id}"><button class="small second" aria-label="${button} ${of}" aria-describedby="row-${id}">${button}</button>`,
  );

/** A form that opens by its summary. It is open from the start if it has failed. */
export function collapsibleForm(
  action: Action,
  summary: string,
  failed: Problem | undefined,
  content: (field: FieldState) => Html,
): Html {
  const problem = failed?.action === action ? failed : undefined;
  return html`<details${problem && html` open`}>
<summary>${summary}</summary>
${alertOf(problem?.problem)}
${form(action, content(createFieldState(problem)))}
</details>`;
}

/**
 * Asks for the password again. The hidden user name keeps password managers from using another field for the
 * account.
 */
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

/**
 * @param name the name of the first field; the second field is `again`
 * @param attributes further attributes of the first field
 */
export const newPasswordFields = (name: string, attributes: Html): Html =>
  html`<label for="new-password">New password</label>
<input id="new-password" name="${name}" type="password" autocomplete="new-password" required minlength="${String(PASSWORD.min)}"${attributes}>
<p class="soft" id="rule">${String(PASSWORD.min)} to ${String(PASSWORD.max)} characters, and not a commonly used password.</p>
<label for="again">Repeat the new password</label>
<input id="again" name="again" type="password" autocomplete="new-password" required>`;

/** The form is posted to the URL of the page itself. */
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

export function passwordSetPage(): string {
  return layout({
    title: 'Your password is set',
    content: html`<h1>Your password is set</h1>
<p>Sign in with your email address and the new password. The link is no longer valid.</p>
<div class="actions"><a class="button" href="${ACCOUNT}">Sign in</a></div>`,
  });
}

/** The page does not distinguish unknown links from expired ones. */
export function voidLinkPage(): string {
  return layout({
    title: 'This link is not valid',
    content: html`<h1>This link is not valid</h1>
<p>A link is valid once and for one day, and a newer link replaces it. If you have just set your password, sign in with the new password. Otherwise ask the sender for a new link.</p>`,
  });
}
