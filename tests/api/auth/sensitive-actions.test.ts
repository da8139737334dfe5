import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ACTIONS as ACTION_NAMES } from '../../../src/account-pages/actions.ts';
import { newId } from '../../../src/platform/uuid.ts';
import { accountPage } from '../../support/account-page.ts';
import { useApp } from '../../support/app.ts';
import { askToken, oauthClient } from '../../support/credentials/oauth.ts';
import { gqlAs, PASSWORD, visitor } from '../../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../../support/credentials/tokens.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SECURITY = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
const SCHEMA = readFileSync(join(ROOT, 'schema.graphql'), 'utf8');
const NEW_PASSWORD = 'another long enough password';

interface SensitiveAction {
  readonly name: string;
  /** The field of the API, and the form of the account page; undefined if there is none. */
  readonly field: string | undefined;
  readonly form: string | undefined;
  readonly adminOnly: boolean;
  readonly needsPassword: boolean;
}

const named = (cell = '') => /^`([\w-]+)`$/.exec(cell)?.[1];
const [, section = ''] = SECURITY.split('### Sensitive actions');
/** The table of docs/security.md. */
const ACTIONS: readonly SensitiveAction[] = [...(section.split('###')[0] ?? '').matchAll(/^\| (.+) \|$/gm)]
  .slice(2)
  .map(([, row = '']) => {
    const [name = '', api, form, , of, password] = row.split(' | ');
    return {
      name,
      field: named(api),
      form: named(form),
      adminOnly: of === 'an admin',
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

const app = useApp({ settings: { JWT_SECRET, FAILURE_BURST: '1000' } });
const page = accountPage(app);

/** Credentials of an account other than a session. */
async function otherCredentials(role: 'member' | 'admin') {
  const { id, key } = await app.account({ role });
  const client = await oauthClient(app, { owner: { id, role }, grants: ['client_credentials'] });
  const { body } = await askToken(app, client, { grant_type: 'client_credentials' });
  return { 'API key': key, JWT: await signToken(id, {}), 'OAuth token': body.access_token };
}

/** Fields of the API that need a session, as the schema says. */
const SESSION_FIELDS = [...SCHEMA.matchAll(/"""([^"]*)"""\s+(\w+)\(/g)].flatMap(
  ([, description = '', name = '']) => (/in a session|needs a session/i.test(description) ? name : []),
);
const SIGNS_IN_OR_OUT: readonly string[] = ['sign-in', 'sign-out'];

it('The table of sensitive actions has each mutation that needs a session, and each form of the account page', () => {
  const fields = ACTIONS.flatMap(({ field }) => field ?? []).sort();
  expect(fields).toEqual(Object.keys(FIELDS).sort());
  expect(fields).toEqual([...new Set(SESSION_FIELDS)].sort());
  const forms = ACTION_NAMES.filter((name) => !SIGNS_IN_OR_OUT.includes(name));
  expect(ACTIONS.flatMap(({ form }) => form ?? []).sort()).toEqual([...forms].sort());
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
