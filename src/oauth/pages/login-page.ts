import { html, NOTHING } from '../../http/pages/html.ts';
import { layout } from '../../http/pages/layout.ts';

export interface LoginPage {
  readonly clientName: string;
  /** Where the form and the cancel button are posted to. */
  readonly loginPath: string;
  readonly cancelPath: string;
  /** The e-mail entered before, or the one that the client suggests. */
  readonly email: string;
  /** Why the last attempt failed, for the user. */
  readonly problem?: string | undefined;
}

export function loginPage({ clientName, loginPath, cancelPath, email, problem }: LoginPage): string {
  const alert =
    problem === undefined ? NOTHING : html`<p class="problem" id="problem" role="alert">${problem}</p>`;
  const described = problem === undefined ? NOTHING : html` aria-describedby="problem"`;
  const atEmail = email === '' ? html` autofocus` : NOTHING;
  const atPassword = email === '' ? NOTHING : html` autofocus`;
  return layout({
    title: problem === undefined ? 'Sign in' : 'Sign in: error',
    content: html`<h1>Sign in</h1>
<p>to continue to <strong>${clientName}</strong>. It never sees your password.</p>
${alert}
<form id="sign-in" method="post" action="${loginPath}">
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}"${described}${atEmail}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${described}${atPassword}>
</form>
<div class="actions">
<button type="submit" form="sign-in">Sign in</button>
<form method="post" action="${cancelPath}">
<button class="second" type="submit">Cancel</button>
</form>
</div>`,
  });
}
