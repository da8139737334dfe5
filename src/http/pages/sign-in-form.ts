import { type Html, html, NOTHING } from './html.ts';

export interface SignInForm {
  /** Where it is posted to. */
  readonly action: string;
  /** The e-mail entered before, or one that is suggested. */
  readonly email: string;
  /** Why the last attempt failed, for the user. */
  readonly problem?: string | undefined;
}

/** The id of the form, for buttons outside of it. */
export const SIGN_IN = 'sign-in';

/** What is wrong, as a page shows it. */
export const alertOf = (problem: string | undefined): Html =>
  problem === undefined ? NOTHING : html`<p class="problem" id="problem" role="alert">${problem}</p>`;

/** The form that asks for an account and its password, without a button. */
export function signInForm({ action, email, problem }: SignInForm): Html {
  const described = problem === undefined ? NOTHING : html` aria-describedby="problem"`;
  const atEmail = email === '' ? html` autofocus` : NOTHING;
  const atPassword = email === '' ? NOTHING : html` autofocus`;
  return html`${alertOf(problem)}
<form id="${SIGN_IN}" method="post" action="${action}">
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}"${described}${atEmail}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${described}${atPassword}>
</form>`;
}
