import { html } from '../../http/pages/html.ts';
import { layout } from '../../http/pages/layout.ts';
import { SIGN_IN, type SignInForm, signInForm } from '../../http/pages/sign-in-form.ts';

export interface LoginPage extends SignInForm {
  readonly clientName: string;
  /** Where the cancel button is posted to. */
  readonly cancelPath: string;
}

export function loginPage({ clientName, cancelPath, ...form }: LoginPage): string {
  return layout({
    title: form.problem === undefined ? 'Sign in' : 'Sign in: error',
    content: html`<h1>Sign in</h1>
<p>to continue to <strong>${clientName}</strong>. It never sees your password.</p>
${signInForm(form)}
<div class="actions">
<button type="submit" form="${SIGN_IN}">Sign in</button>
<form method="post" action="${cancelPath}">
<button class="second" type="submit">Cancel</button>
</form>
</div>`,
  });
}
