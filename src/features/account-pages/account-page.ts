import Bowser from 'bowser';
import { ACCOUNT_NAME } from '../../auth/accounts.ts';
import { type Role, scopesOfRole, scopeWords } from '../../auth/scopes.ts';
import { type Html, html, layout } from '../../http/html/page.ts';
import { alertOf, SIGN_IN, type SignInForm, signInForm } from '../../http/html/sign-in.ts';
import { ACCOUNT } from '../../http/routes/table.ts';
import { CONTENT_LIMITS } from '../../schema/content-limits.ts';
import { describeHandle } from '../../schema/user/profile.ts';
import type { Account, ShownGrant, ShownIdentity, ShownKey, ShownSession } from './account-data.ts';
import {
  ACTION,
  type Action,
  collapsibleForm,
  type FieldState,
  form,
  newPasswordFields,
  type Problem,
  passwordAgain,
  rowForm,
} from './forms.ts';
import { PASSWORD_FORM } from './paths.ts';

/** A client chooses its User-Agent freely, so the page shows only a part. */
const MAX_SHOWN = 80;

const DATES = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** The page runs no script, so it cannot know the reader's time zone. */
const timeOf = (timestamp: string): Html =>
  html`<time datetime="${timestamp}">${DATES.format(new Date(timestamp))} UTC</time>`;

function describeBrowser(userAgent: string | null): string {
  if (userAgent === null || userAgent === '') return 'Unknown browser';
  const parsed = Bowser.getParser(userAgent);
  const [browser, system] = [parsed.getBrowserName(), parsed.getOSName()];
  if (browser === '') return userAgent.length > MAX_SHOWN ? `${userAgent.slice(0, MAX_SHOWN)}…` : userAgent;
  return system === '' ? browser : `${browser} on ${system}`;
}

interface SectionOptions {
  readonly role: Role;
  readonly failed: Problem | undefined;
}

const section = (id: string, heading: string, content: Html): Html =>
  html`<section aria-labelledby="${id}">
<h2 id="${id}">${heading}</h2>
${content}
</section>
`;

const rows = (entries: readonly Html[], none: string): Html =>
  entries.length === 0
    ? html`<p class="soft">${none}</p>`
    : html`<ul class="rows">
${entries}</ul>`;

const row = (content: Html, button: Html | false): Html => html`<li><div>${content}</div>${button}</li>
`;

const lastUsed = (timestamp: string | null): Html =>
  timestamp === null ? html`never used` : html`last used ${timeOf(timestamp)}`;

const HANDLE_RULE = 'handle-rule';

function profileFields({ name, handle, bio, avatarUrl }: Account, { attributes, given }: FieldState): Html {
  const limits = CONTENT_LIMITS.profile;
  return html`<label for="name">Name</label>
<input id="name" name="name" autocomplete="name" required maxlength="${String(ACCOUNT_NAME.max)}" value="${given.get('name') ?? name}"${attributes('name', { first: true })}>
<label for="handle">Handle</label>
<input id="handle" name="handle" autocomplete="nickname" autocapitalize="none" spellcheck="false" maxlength="${String(limits.handle.max)}" value="${given.get('handle') ?? handle ?? ''}"${attributes('handle', { rule: HANDLE_RULE })}>
<p class="soft" id="${HANDLE_RULE}">A unique short name: ${describeHandle(limits.handle)}. Leave the field empty for none.</p>
<label for="bio">About you</label>
<textarea id="bio" name="bio" rows="4" maxlength="${String(limits.bio.max)}"${attributes('bio')}>
${given.get('bio') ?? bio}</textarea>
<label for="avatar-url">URL of your picture</label>
<input id="avatar-url" name="avatarUrl" type="url" autocomplete="photo" placeholder="https://" maxlength="${String(limits.avatarUrl.max)}" value="${given.get('avatarUrl') ?? avatarUrl ?? ''}"${attributes('avatarUrl')}>
<div class="actions"><button>Save the profile</button></div>`;
}

function profileSection(account: Account, { failed }: SectionOptions): Html {
  const { handle, bio } = account;
  return section(
    'profile-heading',
    'Profile',
    html`<p class="soft">Other users see your profile next to what you publish.</p>
${handle !== null && html`<p>@${handle}</p>`}${bio !== '' && html`<p class="text">${bio}</p>`}
${collapsibleForm('update-profile', 'Change the profile', failed, (field) => profileFields(account, field))}`,
  );
}

const passwordSection = ({ email }: Account, { failed }: SectionOptions): Html =>
  section(
    'password-heading',
    'Password',
    html`<p class="soft">A new password revokes all other sessions and the access of applications. API keys stay valid.</p>
${collapsibleForm(
  'change-password',
  'Change the password',
  failed,
  (field) => html`${passwordAgain(PASSWORD_FORM, email, field, 'Current password')}
${newPasswordFields('newPassword', field.attributes('newPassword', { rule: 'rule' }))}
<div class="actions"><button>Change the password</button></div>`,
)}`,
  );

function sessionRow({ id, userAgent, createdAt, lastSeenAt, current }: ShownSession): Html {
  const browser = describeBrowser(userAgent);
  return row(
    html`<strong>${browser}</strong>${current && html` <span class="badge">current session</span>`}
<p class="soft" id="row-${id}">signed in ${timeOf(createdAt)}, last used ${timeOf(lastSeenAt)}</p>`,
    !current && rowForm('end-session', id, 'Revoke', `the session of ${browser}`),
  );
}

const sessionsSection = ({ sessions }: Account): Html =>
  section('sessions-heading', 'Sessions', rows(sessions.map(sessionRow), 'There are no sessions.'));

const scopeList = (scopes: readonly string[], role: Role): Html =>
  html`<ul class="soft plain">
${scopes.map(
  (scope) => html`<li>${scopeWords(scope, role)}</li>
`,
)}</ul>`;

const keyRow = (role: Role) => (key: ShownKey) =>
  row(
    html`<strong>${key.name}</strong> <code>${key.prefix}…</code>
<p class="soft" id="row-${key.id}">created ${timeOf(key.createdAt)}, ${lastUsed(key.lastUsedAt)}${key.expiresAt !== null && html`, valid until ${timeOf(key.expiresAt)}`}</p>
${scopeList(key.scopes, role)}`,
    rowForm('revoke-key', key.id, 'Revoke', `the key ${key.name}`),
  );

/** Lifetimes of a new key in days; 0 means that the key does not expire. */
export const KEY_DAYS = [30, 90, 365, 0] as const;

const daysOption = (given: URLSearchParams) => (days: (typeof KEY_DAYS)[number]) =>
  html`
<option value="${String(days)}"${given.get('days') === String(days) && html` selected`}>${days === 0 ? 'Until I revoke it' : `${days} days`}</option>`;

/**
 * The first box represents the group, because a group cannot have the focus or be invalid (ARIA 1.2,
 * aria-invalid).
 */
const scopeBox =
  (role: Role, { given, attributes }: FieldState) =>
  (scope: string, index: number) =>
    html`
<label class="check"><input type="checkbox" name="scope" value="${scope}"${given.has('scope', scope) && html` checked`}${index === 0 && attributes('scopes')}> ${scopeWords(scope, role)}</label>`;

function keysSection({ apiKeys, email }: Account, { role, failed }: SectionOptions): Html {
  return section(
    'keys-heading',
    'API keys',
    html`<p class="soft">Programs use API keys to act for your account.</p>
${rows(apiKeys.map(keyRow(role)), 'You have no API keys.')}
${collapsibleForm(
  'create-key',
  'Create an API key',
  failed,
  (field) => html`<label for="key-name">Name of the key</label>
<input id="key-name" name="name" autocomplete="off" required maxlength="100" value="${field.given.get('name') ?? ''}"${field.attributes('name', { first: true })}>
<fieldset>
<legend>Permissions</legend>${scopesOfRole(role).map(scopeBox(role, field))}
</fieldset>
<label for="days">Valid for</label>
<select id="days" name="days">${KEY_DAYS.map(daysOption(field.given))}
</select>
${passwordAgain('key-password', email, field)}
<div class="actions"><button>Create the key</button></div>`,
)}`,
  );
}

const grantRow = (role: Role) => (grant: ShownGrant) =>
  row(
    html`<strong>${grant.clientName}</strong>
<p class="soft" id="row-${grant.id}">allowed ${timeOf(grant.createdAt)}, ${lastUsed(grant.lastUsedAt)}</p>
${scopeList(grant.scopes, role)}`,
    rowForm('revoke-grant', grant.id, 'Revoke', `the access of ${grant.clientName}`),
  );

const grantsSection = (grants: readonly ShownGrant[], { role }: SectionOptions): Html =>
  section(
    'applications-heading',
    'Applications with access',
    rows(grants.map(grantRow(role)), 'You have given no application access to your account.'),
  );

const identityRow = ({ id, issuer, subject, createdAt, lastUsedAt }: ShownIdentity) =>
  row(
    html`<strong>${issuer}</strong>
<p class="soft" id="row-${id}">${subject}, linked ${timeOf(createdAt)}, ${lastUsed(lastUsedAt)}</p>`,
    rowForm('unlink-identity', id, 'Unlink', `the identity at ${issuer}`),
  );

const identitiesSection = (identities: readonly ShownIdentity[]): Html =>
  section(
    'identities-heading',
    'Linked identities',
    html`<p class="soft">Applications where you sign in with these identities act for your account. Only the operator can link an identity again.</p>
${rows(identities.map(identityRow), '')}`,
  );

function dataSection({ email }: Account, { failed }: SectionOptions): Html {
  return section(
    'data-heading',
    'Your data',
    html`<p class="soft">All data that is stored about your account, as a JSON file.</p>
${collapsibleForm(
  'download',
  'Download your data',
  failed,
  (field) => html`${passwordAgain('data-password', email, field)}
<div class="actions"><button>Download</button></div>`,
)}`,
  );
}

function everythingSection({ email }: Account, { failed }: SectionOptions): Html {
  return section(
    'everything-heading',
    'Revoke everything',
    html`<p class="soft">Revokes all sessions including the current session, all API keys, the access of all applications and a link to set your password, and deletes your OAuth clients. Use it if another person may have access to your account, then change the password.</p>
${collapsibleForm(
  'revoke-everything',
  'Revoke everything',
  failed,
  (field) => html`${passwordAgain('everything-password', email, field)}
<div class="actions"><button class="danger">Revoke everything</button></div>`,
)}`,
  );
}

const DONE: Partial<Record<Action, string>> = {
  'sign-out': 'You are signed out.',
  'update-profile': 'Your profile is changed.',
  'change-password': 'Your password is changed. All other sessions were revoked.',
  'end-session': 'The session is revoked.',
  'revoke-key': 'The key is revoked.',
  'revoke-grant': 'The access of the application is revoked.',
  'unlink-identity': 'The identity is unlinked.',
  'revoke-everything': 'Everything is revoked. Sign in and change the password.',
};

/** These forms have only a button in a row, so no problem can be shown next to them. */
const ROW_ACTIONS: readonly Action[] = ['end-session', 'revoke-key', 'revoke-grant', 'unlink-identity'];

const noticeOf = (done: Action | undefined): string | undefined => done && DONE[done];

const shownNotice = (notice: string | undefined) =>
  notice !== undefined && html`<p class="done" role="status">${notice}</p>`;

interface AccountPage extends SectionOptions {
  readonly account: Account;
  readonly done: Action | undefined;
}

export function accountPage({ account, done, ...options }: AccountPage): string {
  const { name, email, grants, externalIdentities } = account;
  const { failed } = options;
  const notice = noticeOf(done);
  return layout({
    // Screen readers read the title first.
    title: failed === undefined ? (notice?.replace(/\.$/, '') ?? 'Your account') : 'Your account: error',
    wide: true,
    content: html`<div class="top">
<div><h1>${name}</h1>
<p class="soft">${email}</p></div>
${form('sign-out', html`<button class="small second">Sign out</button>`)}
</div>
${shownNotice(notice)}${failed !== undefined && ROW_ACTIONS.includes(failed.action) && alertOf(failed.problem)}
${profileSection(account, options)}${passwordSection(account, options)}${sessionsSection(account)}${keysSection(account, options)}${grants && grantsSection(grants, options)}${externalIdentities.length > 0 && identitiesSection(externalIdentities)}${dataSection(account, options)}${everythingSection(account, options)}`,
  });
}

interface SignInPage extends Pick<SignInForm, 'email' | 'problem'> {
  readonly done?: Action | undefined;
}

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

/** The page shows a new API key once. The key cannot be shown again. */
export function newKeyPage(name: string, key: string): string {
  return layout({
    title: 'Your new API key',
    content: html`<h1>Your new API key</h1>
<p>The key <strong>${name}</strong> is shown only once. Copy the key now, and store it like a password.</p>
<label for="key">API key</label>
<textarea id="key" rows="2" readonly autocomplete="off" spellcheck="false">${key}</textarea>
<div class="actions"><a class="button" href="${ACCOUNT}">Back to your account</a></div>`,
  });
}
