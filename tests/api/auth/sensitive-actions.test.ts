import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ACTIONS as ACTION_NAMES } from '../../../src/features/account-pages/forms.ts';
import { newId } from '../../../src/platform/ids.ts';
import { accountPage } from '../../support/account-page.ts';
import { type Account, useApp } from '../../support/app.ts';
import {
  askToken,
  authorizeClient,
  authorizeUrl,
  Browser,
  basic,
  exchangeCode,
  oauthClient,
  PKCE,
  postForm,
  statusWith,
} from '../../support/credentials/oauth.ts';
import { freshCookie, gqlAs, PASSWORD, person, visitor } from '../../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../../support/credentials/tokens.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SECURITY = readFileSync(join(ROOT, 'docs/operate/security.md'), 'utf8');
const SCHEMA = readFileSync(join(ROOT, 'schema.graphql'), 'utf8');
const NEW_PASSWORD = 'another long enough password';

interface SensitiveAction {
  readonly name: string;
  /** The field of the API, the form of the account page, and the path of OAuth; undefined if there is none. */
  readonly field: string | undefined;
  readonly form: string | undefined;
  readonly path: string | undefined;
  readonly adminOnly: boolean;
  readonly needsPassword: boolean;
}

const named = (cell = '') => /^`([\w/:-]+)`$/.exec(cell)?.[1];
const [, section = ''] = SECURITY.split('### Sensitive actions');
/** The table of docs/operate/security.md. */
const ACTIONS: readonly SensitiveAction[] = [...(section.split('###')[0] ?? '').matchAll(/^\| (.+) \|$/gm)]
  .slice(2)
  .map(([, row = '']) => {
    const [name = '', api, form, path, of, password] = row.split(' | ');
    return {
      name,
      field: named(api),
      form: named(form),
      path: named(path),
      adminOnly: of === 'admin',
      needsPassword: password === 'yes',
    };
  });

/** The arguments of each field besides the current password, and what it selects. */
const FIELDS: Readonly<Record<string, (id: string) => readonly [args: string, selection: string]>> = {
  createApiKey: () => ['name: "k", scopes: ["posts:read"]', '{ key }'],
  changePassword: () => [`newPassword: "${NEW_PASSWORD}"`, ''],
  revokeEverything: () => ['', ''],
  inviteUser: (id) => [`email: "${id}@example.com", name: "n"`, '{ url }'],
  createResetLink: (id) => [`email: "${id}"`, '{ url }'],
  revokeApiKey: () => [`id: "${newId()}"`, ''],
  revokeSession: () => [`id: "${newId()}"`, ''],
  revokeGrant: () => [`id: "${newId()}"`, ''],
  unlinkIdentity: () => [`id: "${newId()}"`, ''],
  updateViewer: () => ['name: "n"', '{ id }'],
};

function mutation(field: string, id: string, password: string | undefined): string {
  const [args, selection] = FIELDS[field]?.(id) ?? ['', ''];
  const all = [args, ...(password === undefined ? [] : [`currentPassword: "${password}"`])].filter(Boolean);
  return `mutation { ${field}${all.length === 0 ? '' : `(${all.join(', ')})`} ${selection} }`;
}

const FORM = {
  name: 'n',
  scope: 'posts:read',
  days: '30',
  newPassword: NEW_PASSWORD,
  again: NEW_PASSWORD,
  id: newId(),
};

const app = useApp({ settings: { JWT_SECRET, AUTH_FAILURE_BURST: '1000' } });
const page = accountPage(app);

/** Credentials of an account other than a session. */
async function otherCredentials(role: 'member' | 'admin', account?: Account) {
  const { id, key } = account ?? (await app.account({ role }));
  const client = await oauthClient(app, { owner: { id, role }, grants: ['client_credentials'] });
  const { body } = await askToken(app, client, { grant_type: 'client_credentials' });
  return { 'API key': key, JWT: await signToken(id, {}), 'OAuth token': body.access_token };
}

/** Fields of the API that need a session, as the schema says. */
const SESSION_FIELDS = [...SCHEMA.matchAll(/"""([^"]*)"""\s+(\w+)\(/g)].flatMap(
  ([, description = '', name = '']) => (/in a session|needs a session/i.test(description) ? name : []),
);
const SIGNS_IN_OR_OUT: readonly string[] = ['sign-in', 'sign-out'];
/** The paths of OAuth that take a form and are no sensitive action: a client calls them, or they end without access. */
const OTHER_OAUTH_PATHS: readonly string[] = [
  '/oauth/token',
  '/oauth/introspect',
  '/oauth/revoke',
  '/oauth/userinfo',
  '/oauth/logout',
  '/oauth/logout/confirm',
  '/oauth/interaction/:uid/login',
  '/oauth/interaction/:uid/cancel',
  '/oauth/*',
];

it('The table of sensitive actions has each mutation that needs a session, and each form of the account page and of OAuth', () => {
  const fields = ACTIONS.flatMap(({ field }) => field ?? []).sort();
  expect(fields).toEqual(Object.keys(FIELDS).sort());
  expect(fields).toEqual([...new Set(SESSION_FIELDS)].sort());
  const forms = ACTION_NAMES.filter((name) => !SIGNS_IN_OR_OUT.includes(name));
  expect(ACTIONS.flatMap(({ form }) => form ?? []).sort()).toEqual([...forms].sort());
  const paths = app.app.routes.flatMap(({ path, methods }) =>
    path.startsWith('/oauth/') && methods.includes('POST') ? path : [],
  );
  expect(ACTIONS.flatMap(({ path }) => path ?? [])).toEqual(
    paths.filter((path) => !OTHER_OAUTH_PATHS.includes(path)),
  );
});

describe.each(ACTIONS.filter(({ field }) => field !== undefined))('$name by the API', (action) => {
  const { field = '', adminOnly, needsPassword } = action;
  const role = adminOnly ? 'admin' : 'member';
  const codesOf = async (cookie: string, query: string) =>
    (await gqlAs(app, cookie, query)).errors?.map(({ extensions }) => [extensions.code, extensions.argument]);

  it('needs a session', async () => {
    for (const [kind, token] of Object.entries(await otherCredentials(role))) {
      const { errors } = await app.gql(mutation(field, newId(), needsPassword ? PASSWORD : undefined), {
        key: token,
      });
      expect([kind, errors?.[0]?.extensions.code]).toEqual([kind, 'FORBIDDEN']);
    }
  });

  it(needsPassword ? 'needs the current password' : 'needs nothing else', async () => {
    const { id, cookie } = await visitor(app, { role });
    const target = field === 'createResetLink' ? (await app.account()).email : id;
    const wrong = needsPassword && (await codesOf(cookie, mutation(field, target, 'wrong')));
    if (needsPassword) expect(wrong).toEqual([['BAD_USER_INPUT', 'currentPassword']]);
    const right = mutation(field, target, needsPassword ? PASSWORD : undefined);
    if (adminOnly)
      expect(await codesOf((await visitor(app)).cookie, right)).toEqual([['FORBIDDEN', undefined]]);
    expect(await codesOf(cookie, right)).toBeUndefined();
  });
});

describe.each(ACTIONS.filter(({ form }) => form !== undefined))('$name by the account page', (action) => {
  const { form = '', needsPassword } = action;

  it('needs a session', async () => {
    for (const token of Object.values(await otherCredentials('member'))) {
      const fields = { do: form, ...FORM, currentPassword: PASSWORD };
      expect((await page.send('', fields, { authorization: `Bearer ${token}` })).status).toBe(401);
    }
  });

  it(needsPassword ? 'needs the current password' : 'needs nothing else', async () => {
    const { cookie } = await visitor(app);
    const fields = { do: form, ...FORM };
    if (needsPassword)
      for (const wrong of [{}, { currentPassword: 'wrong' }])
        expect((await page.send(cookie, { ...fields, ...wrong })).status).toBe(400);
    const done = await page.send(cookie, {
      ...fields,
      ...(needsPassword ? { currentPassword: PASSWORD } : {}),
    });
    expect([200, 303]).toContain(done.status);
    await done.text();
  });
});

describe.each(ACTIONS.filter(({ path }) => path !== undefined))('$name by OAuth', ({ path = '' }) => {
  const { challenge } = PKCE();
  const sessionIn = (cookie: string) => ({ session_id: cookie.slice(cookie.indexOf('=') + 1) });

  /** A browser that has begun to sign in to an application, and what sends the form. */
  async function begun(cookies: Record<string, string>, accountId: string) {
    const client = await oauthClient(app, { owner: await app.account() });
    const browser = new Browser(app, cookies);
    const { response } = await browser.open(authorizeUrl(client, { challenge }));
    const [, uid = ''] = /action="\/oauth\/interaction\/([^/]+)\//.exec(await response.text()) ?? [];
    const send = (headers: Record<string, string> = {}) =>
      browser.fetch(path.replace(':uid', uid), {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams({ account: accountId }).toString(),
      });
    return {
      send,
      isAllowed: async () => (await app.prisma.oAuthGrant.count({ where: { clientId: client.id } })) > 0,
    };
  }

  it('needs a session of the account', async () => {
    const account = await visitor(app);
    const { send, isAllowed } = await begun({}, account.id);
    for (const token of Object.values(await otherCredentials('member', account))) {
      const { status, headers } = await send({ authorization: `Bearer ${token}` });
      expect([status, headers.get('location')]).toEqual([
        303,
        expect.stringMatching(/^\/oauth\/interaction\//),
      ]);
    }
    const other = await begun(sessionIn((await visitor(app)).cookie), account.id);
    await other.send();
    expect([await isAllowed(), await other.isAllowed()]).toEqual([false, false]);
  });

  it('needs nothing else', async () => {
    const { id, cookie } = await visitor(app);
    const { send, isAllowed } = await begun(sessionIn(cookie), id);
    expect((await send()).headers.get('location')).toMatch(/^https:\/\/client\.example\/callback\?code=/);
    expect(await isAllowed()).toBe(true);
  });
});

it('An application revokes its own tokens at /oauth/revoke, and neither a session nor another credential revokes them', async () => {
  const user = await person(app);
  const client = await oauthClient(app, { owner: await app.account() });
  const { body } = await exchangeCode(app, client, await authorizeClient(app, client, user));
  const revoke = async (headers: Record<string, string>) =>
    (await postForm(app, '/oauth/revoke', { token: body.refresh_token }, headers)).status;
  const cookie = await freshCookie(app, user.email);
  for (const token of Object.values(await otherCredentials('member', user)))
    expect(await revoke({ cookie, authorization: `Bearer ${token}` })).toBe(401);
  expect(await revoke({ cookie })).toBe(401);
  expect(await revoke(basic(await oauthClient(app, { owner: user })))).toBe(200);
  expect(await statusWith(app, body.access_token)).toBe(200);
  expect(await revoke(basic(client))).toBe(200);
  expect(
    (await askToken(app, client, { grant_type: 'refresh_token', refresh_token: body.refresh_token })).status,
  ).toBe(400);
});
