import { type Html, html, layout, NOTHING } from '../../http/pages/layout.ts';
import { alertOf, SIGN_IN, signInForm } from '../../http/pages/sign-in.ts';
import { ACCOUNT } from '../../http/routes/table.ts';
import type { Account } from '../server/account.ts';
import { ACTION, type Action, form } from './forms.ts';
import {
  dataSection,
  everythingSection,
  grantsSection,
  keysSection,
  nameSection,
  passwordSection,
  type SectionOptions,
  sessionsSection,
} from './sections.ts';

/** What the page says once something is done. */
const DONE: Partial<Record<Action, string>> = {
  'sign-out': 'You are signed out.',
  rename: 'Your name is changed.',
  'change-password': 'Your password is changed. All other sessions have ended.',
  'end-session': 'The session has ended.',
  'revoke-key': 'The key is revoked.',
  'revoke-grant': 'The application has no access any more.',
  'revoke-everything': 'Everything is revoked. Sign in and change the password.',
};

/** These have no form of their own that a problem could stand beside. */
const OF_ROWS: readonly Action[] = ['end-session', 'revoke-key', 'revoke-grant'];

const noticeOf = (done: Action | undefined): string | undefined => done && DONE[done];

const shownNotice = (notice: string | undefined): Html =>
  notice === undefined ? NOTHING : html`<p class="done" role="status">${notice}</p>`;

export interface AccountPage extends SectionOptions {
  readonly account: Account;
  /** What has just been done. */
  readonly done: Action | undefined;
}

/** Where somebody keeps their account. */
export function accountPage({ account, done, ...options }: AccountPage): string {
  const { name, email, grants } = account;
  const { failed } = options;
  const notice = noticeOf(done);
  return layout({
    // Screen readers say the title first.
    title: failed === undefined ? (notice?.replace(/\.$/, '') ?? 'Your account') : 'Your account: error',
    wide: true,
    content: html`<div class="top">
<div><h1>${name}</h1>
<p class="soft">${email}</p></div>
${form('sign-out', html`<button class="small second">Sign out</button>`)}
</div>
${shownNotice(notice)}${failed !== undefined && OF_ROWS.includes(failed.action) ? alertOf(failed.problem) : NOTHING}
${nameSection(account, options)}${passwordSection(account, options)}${sessionsSection(account)}${keysSection(account, options)}${
  grants === undefined ? NOTHING : grantsSection(grants, options)
}${dataSection(account, options)}${everythingSection(account, options)}`,
  });
}

export interface SignInPage {
  readonly email: string;
  readonly problem?: string | undefined;
  readonly done?: Action | undefined;
}

/** The page where people sign in to their account. */
export function signInPage({ email, problem, done }: SignInPage): string {
  return layout({
    title: problem === undefined ? 'Sign in' : 'Sign in: error',
    content: html`<h1>Sign in</h1>
<p>to your account.</p>
${shownNotice(noticeOf(done))}
${signInForm({ action: ACCOUNT, email, problem })}
<div class="actions"><button name="${ACTION}" value="sign-in" form="${SIGN_IN}">Sign in</button></div>`,
  });
}

/** A new API key, which nobody sees again. */
export function newKeyPage(name: string, key: string): string {
  return layout({
    title: 'Your new API key',
    content: html`<h1>Your new API key</h1>
<p>The key <strong>${name}</strong> is shown here only once. Copy it now, and keep it like a password.</p>
<label for="key">API key</label>
<input id="key" readonly autocomplete="off" spellcheck="false" value="${key}">
<div class="actions"><a class="button" href="${ACCOUNT}">Back to your account</a></div>`,
  });
}
