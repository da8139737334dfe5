import { html, layout } from '../../http/pages/layout.ts';
import { alertOf } from '../../http/pages/sign-in.ts';
import { ACCOUNT } from '../../http/routes/table.ts';
import type { Link } from '../links/link-store.ts';
import { newPasswordFields } from './forms.ts';

/** Where a person sets the password of an account. The form is posted to the address of the page itself. */
export function passwordPage({ kind, name, email }: Link, problem?: string): string {
  const attributes = html` autofocus aria-describedby="rule${problem === undefined ? '' : ' problem'}"`;
  const title = kind === 'invite' ? 'Welcome' : 'Set a new password';
  const first =
    kind === 'invite'
      ? html`<h1>Welcome, ${name}</h1>
<p>Choose the password of your new account.</p>`
      : html`<h1>Set a new password</h1>
<p>It ends every session and every access of applications that the old one has opened.</p>`;
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
<p>From now on, sign in with your e-mail and the new password. The link is used up.</p>
<div class="actions"><a class="button" href="${ACCOUNT}">Sign in</a></div>`,
  });
}

/** For a link that does not exist, or is no longer valid. */
export function voidLinkPage(): string {
  return layout({
    title: 'This link is not valid',
    content: html`<h1>This link is not valid</h1>
<p>A link is good for one day and for one time, and a newer one replaces it. If you have just set your password with it, sign in with that. Otherwise ask whoever sent the link for a new one.</p>`,
  });
}
