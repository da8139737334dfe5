import { describe, expect, it } from 'vitest';
import { statement } from '../../../src/database/statement.ts';
import { createSigningKeyEncryptor, listSigningKeys } from '../../../src/features/oauth/signing-keys.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
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
} from '../../support/credentials/oauth.ts';
import { cookieOf, gqlAs, login, PASSWORD, person, visitor } from '../../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../../support/credentials/tokens.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { dataOf } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';

const app = useApp({
  settings: { JWT_SECRET, SECRET_KEY: 'the-k3y-that-encrypts-what-is-stored-00', LOG_LEVEL: 'trace' },
});

const WRONG_PASSWORD = 'a wrong and telling password';
const NEW_PASSWORD = 'a new and telling password';
const CREATE_KEY = `mutation ($password: String!) {
  createApiKey(name: "n", scopes: ["posts:read"], currentPassword: $password) { key } }`;
const CHANGE = `mutation ($current: String!, $next: String!) {
  changePassword(currentPassword: $current, newPassword: $next) }`;

const RESET_LINK = `mutation ($email: String!, $password: String!) {
  createResetLink(email: $email, currentPassword: $password) { url } }`;

/** Every flow that a secret takes part in, the failing ones too. All secrets that were in it, by what they are. */
async function runAllFlows(): Promise<Record<string, string>> {
  const { id, email, key, cookie } = await visitor(app);
  const viewer = '{ viewer { id } }';
  const url = `/graphql?query=${encodeURIComponent(viewer)}`;
  const good = await signToken(id, { claims: { jti: 'one' } });
  const forged = await signToken(id, { key: new Uint8Array(32) });
  const unknownKey = `${key.slice(0, -1)}_`;
  const unknownSession = 'S'.repeat(43);
  await app.fetch(`${url}&api_key=${key}`);
  await app.fetch(`${url}&api_key=${unknownKey}`);
  for (const token of [key, unknownKey, good, forged]) await app.gql(viewer, { key: token });
  await gqlAs(app, `session_id=${unknownSession}`, viewer);
  await login(app, { email, password: WRONG_PASSWORD });
  await login(app, `{"email": "${email}", "password": "${WRONG_PASSWORD}`);
  const createKey = (password: string, idempotencyKey: string) =>
    gqlAs(app, cookie, CREATE_KEY, {
      variables: { password },
      headers: { 'idempotency-key': idempotencyKey },
    });
  await createKey(WRONG_PASSWORD, 'another-idempotency-key');
  const created = dataOf(await createKey(PASSWORD, 'telling-idempotency-key'));
  await app.gql(viewer, { key: created.createApiKey.key });
  const change = (current: string, next: string) =>
    gqlAs(app, cookie, CHANGE, {
      variables: { current, next },
      headers: { 'idempotency-key': `key-${current}` },
    });
  await change(WRONG_PASSWORD, NEW_PASSWORD);
  await gqlAs(app, cookie, `mutation { changePassword(currentPassword: "${WRONG_PASSWORD}") }`);
  const changed = await change(PASSWORD, NEW_PASSWORD);
  dataOf(changed);
  const again = cookieOf(await login(app, { email, password: NEW_PASSWORD }));
  await app.fetch('/logout', { method: 'POST', headers: { cookie: again } });
  // What fails inside the service is logged in full.
  const broken = secondInstance(app, {
    database: watchedDatabase(app.database, () => {
      throw new Error('the database is on fire');
    }),
  });
  for (const headers of [{ authorization: `Bearer ${key}` }, { authorization: `Bearer ${good}` }, { cookie }])
    expect((await broken.fetch(url, { headers })).status).toBe(500);
  expect((await login(broken, { email, password: NEW_PASSWORD })).status).toBe(500);
  return {
    'the API key': key,
    'an unknown API key': unknownKey,
    'the key that was made': created.createApiKey.key,
    'the JWT': good,
    'the signature of the JWT': good.split('.')[2] ?? '',
    'a forged JWT': forged,
    'the session id': cookie.slice('session_id='.length),
    'the session id after the change': cookieOf(changed).slice('session_id='.length),
    'another session id': again.slice('session_id='.length),
    'an unknown session id': unknownSession,
    'the password': PASSWORD,
    'a wrong password': WRONG_PASSWORD,
    'a new password': NEW_PASSWORD,
    'the secret of the JWTs': JWT_SECRET,
    'the secret key': app.config.secretKey ?? '',
  };
}

/** What OAuth hands out, with the ways in which it is rejected. All secrets that were in it, by what they are. */
async function runOAuthFlows(): Promise<Record<string, string>> {
  const user = await person(app);
  const client = await oauthClient(app, {
    owner: user,
    grants: ['authorization_code', 'refresh_token', 'client_credentials'],
  });
  const got = await authorizeClient(app, client, user);
  const { body } = await exchangeCode(app, client, got);
  const refresh = (token: string) =>
    askToken(app, client, { grant_type: 'refresh_token', refresh_token: token });
  const { body: rotated } = await refresh(body.refresh_token);
  for (const token of [rotated.access_token, rotated.refresh_token])
    for (const path of ['introspect', 'revoke']) {
      await postForm(app, `/oauth/${path}`, { token }, basic(client));
      await postForm(app, `/oauth/${path}?token=${token}`, { token, client_secret: client.secret });
    }
  const { body: alone } = await askToken(app, client, { grant_type: 'client_credentials' });
  await app.gql('{ viewer { id } }', { key: alone.access_token });
  // Kept while it lasts: a code that waits, a token that waits, a sign-in under way.
  const waiting = await authorizeClient(app, client, user);
  const { body: kept } = await exchangeCode(app, client, await authorizeClient(app, client, user));
  const { response } = await new Browser(app).open(authorizeUrl(client, { challenge: PKCE().challenge }));
  const uid = /action="\/oauth\/interaction\/([^/]+)\/login"/.exec(await response.text())?.[1] ?? '';
  await app.fetch(`/oauth/authorize/${uid}`);
  await app.fetch(`/oauth/interaction/${uid}`);
  const [key] = await listSigningKeys(app.database, createSigningKeyEncryptor(app.config));
  const wrong = 'wrong-and-telling-client-secret';
  await askToken(app, { ...client, secret: wrong }, { grant_type: 'client_credentials' });
  await exchangeCode(app, client, { ...got, code: 'wrong-and-telling-code' });
  return {
    'the client secret': client.secret,
    'a wrong client secret': wrong,
    'a code': got.code,
    'a code that waits': waiting.code,
    'a wrong code': 'wrong-and-telling-code',
    'a code verifier': got.verifier,
    'an access token': body.access_token,
    'its signature': body.access_token.split('.')[2],
    'a refresh token': body.refresh_token,
    'a rotated refresh token': rotated.refresh_token,
    'a refresh token that waits': kept.refresh_token,
    'the token of a client alone': alone.access_token,
    'the name of a sign-in': uid,
    'the private signing key': String(key?.open().export({ format: 'jwk' }).d),
  };
}

/** The links by which accounts set a password: some of them are used, and others wait. All tokens, by their links. */
async function runLinkFlows(): Promise<Record<string, string>> {
  const tokens: Record<string, string> = {};
  /** Opens a link, and sends a password that the page rejects and, where the link is to be used, a good one. */
  const follow = async (what: string, link: string, passwords: readonly string[]) => {
    const { pathname, search, searchParams } = new URL(link);
    tokens[what] = searchParams.get('token') ?? '';
    expect((await app.fetch(`${pathname}${search}`)).status).toBe(200);
    const statuses: number[] = [];
    for (const password of passwords) {
      const body = new URLSearchParams({ password, again: password });
      statuses.push((await app.fetch(`${pathname}${search}`, { method: 'POST', body })).status);
    }
    expect(statuses).toEqual([400, 200].slice(0, passwords.length));
  };
  const print = async (...args: readonly string[]): Promise<string> =>
    (await adminCommand(app, ['user', ...args])).json.link;
  await follow('the token of an invite', await print('invite', 'i@example.com', '--name', 'I'), ['short']);
  const used = await print('invite', 'u@example.com', '--name', 'U');
  await follow('the token of an invite that is used', used, ['short', NEW_PASSWORD]);
  const reset = await print('create-reset-link', (await person(app)).email);
  await follow('the token of a reset link', reset, ['short']);
  const usedReset = await print('create-reset-link', (await person(app)).email);
  await follow('the token of a reset link that is used', usedReset, ['short', NEW_PASSWORD]);
  const { cookie } = await visitor(app, { role: 'admin' });
  const { email } = await person(app);
  const variables = { email, password: PASSWORD };
  const headers = { 'idempotency-key': 'telling-link-key' };
  const { createResetLink } = dataOf(await gqlAs(app, cookie, RESET_LINK, { variables, headers }));
  await follow('the token of a link from an admin', createResetLink.url, []);
  return tokens;
}

/** Every row of every table as PostgreSQL writes it. */
async function everyRow(): Promise<string[]> {
  const tables = await app.database.query(
    statement<{ name: string }>(
      'tables',
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
    ),
    [],
  );
  const rows = await Promise.all(
    tables.map(({ name }) =>
      app.database.query(
        statement<{ row: string }>(`rows_${name}`, `SELECT t::text AS row FROM "${name}" t`),
        [],
      ),
    ),
  );
  return rows.flat().map(({ row }) => row);
}

/** The forms in which a text could stand somewhere for anybody to read. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString('hex'), bytes.toString('base64'), encodeURIComponent(secret)];
}

describe('secrets', () => {
  it('are in no log line and in no column of the database', async () => {
    const secrets = { ...(await runOAuthFlows()), ...(await runAllFlows()), ...(await runLinkFlows()) };
    const log = app.logged.join('');
    const rows = await everyRow();
    expect(app.logged.length).toBeGreaterThan(20);
    expect(rows.length).toBeGreaterThan(5);
    const columns = rows.join('\n');
    for (const [what, secret] of Object.entries(secrets)) {
      expect(secret.length, what).toBeGreaterThan(10);
      for (const form of formsOf(secret)) {
        expect(log.includes(form), `${what} in the log`).toBe(false);
        expect(columns.includes(form), `${what} in the database`).toBe(false);
      }
    }
  });
});
