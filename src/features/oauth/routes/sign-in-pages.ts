import type { Client } from 'oidc-provider';
import { type ClientScope, scopeWords } from '../../../auth/scopes.ts';
import { html, layout } from '../../../http/html/page.ts';
import { SIGN_IN, type SignInForm, signInForm } from '../../../http/html/sign-in.ts';
import { ACCOUNT } from '../../../http/routes/table.ts';
import type { ActiveAccount } from '../identity.ts';
import { signInPath } from '../paths.ts';

/** The query parameter means that the user wants another account. */
export const OTHER_ACCOUNT = 'another-account';

interface SignInPage {
  readonly uid: string;
  readonly client: Client;
}

const nameOf = ({ clientName, clientId }: Client): string => clientName ?? clientId;

interface LoginPage extends SignInPage, Omit<SignInForm, 'action'> {}

export function loginPage({ uid, client, ...form }: LoginPage): string {
  return layout({
    title: form.problem === undefined ? 'Sign in' : 'Sign in: error',
    content: html`<h1>Sign in</h1>
<p>to continue to <strong>${nameOf(client)}</strong>. It never sees your password.</p>
${signInForm({ ...form, action: signInPath('login', uid) })}
<div class="actions">
<button type="submit" form="${SIGN_IN}">Sign in</button>
<form method="post" action="${signInPath('cancel', uid)}">
<button class="second" type="submit">Cancel</button>
</form>
</div>`,
  });
}

interface ConsentPage extends SignInPage {
  readonly redirectUri: string;
  readonly account: ActiveAccount;
  readonly scopes: readonly ClientScope[];
}

const TICK = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M5 12.5l4.5 4.5L19 7.5"/></svg>`;

/** Returns the first grapheme, which may have several code points. */
function initialOf(name: string): string {
  const [first] = new Intl.Segmenter().segment(name.trim());
  return first?.segment.toUpperCase() ?? '';
}

/** The recipient of the response is a host or, for an app, its scheme. */
function recipientOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return host === '' ? protocol.slice(0, -1) : host;
}

export function consentPage({ uid, client, redirectUri, account, scopes }: ConsentPage): string {
  const clientName = nameOf(client);
  return layout({
    title: `Allow ${clientName}?`,
    content: html`<h1>Allow <strong>${clientName}</strong> to use your account?</h1>
<div class="account">
<span class="initial" aria-hidden="true">${initialOf(account.name)}</span>
<p>Signed in as <strong>${account.name}</strong><br><span class="soft">${account.email}</span></p>
</div>
<p class="soft">Not you? <a href="${signInPath('interaction', uid)}?${OTHER_ACCOUNT}">Use another account</a></p>
<h2 id="asks">${clientName} will be able to</h2>
<ul class="scopes" aria-labelledby="asks">
${scopes.map(
  (scope) => html`<li>${TICK}${scopeWords(scope, account.role)}</li>
`,
)}</ul>
<p class="soft">${clientName} never sees your password, and you can revoke this access at any time in <a href="${ACCOUNT}">your account</a>. Either way, you will continue to <strong>${recipientOf(redirectUri)}</strong>.</p>
<div class="actions pair">
<form method="post" action="${signInPath('allow', uid)}">
<input type="hidden" name="account" value="${account.id}">
<button type="submit">Allow</button>
</form>
<form method="post" action="${signInPath('cancel', uid)}">
<button class="second" type="submit">Cancel</button>
</form>
</div>`,
  });
}
