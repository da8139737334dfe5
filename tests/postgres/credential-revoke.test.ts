import { expect, it, onTestFinished } from 'vitest';
import { type TestApp, useApp } from '../support/app.ts';
import {
  CREDENTIALS,
  type Credential,
  expectRevoked,
  type Holder,
  holder,
} from '../support/credentials/holdings.ts';
import { freshCookie, visitor } from '../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../support/credentials/tokens.ts';
import { besidePool, NEVER_MS, postgresOf } from '../support/database/postgres.ts';
import { runScript, temporaryFolder, until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { run } from '../support/processes/started.ts';
import { instanceOnOwnPool, secondInstance } from '../support/second-instance.ts';

const app = useApp({ settings: { JWT_SECRET } });

const settings = (limits: Readonly<Record<string, string>> = {}) => ({
  DATABASE_URL: postgresOf(app).url,
  ...limits,
});

async function revokeAll(args: readonly string[], limits?: Readonly<Record<string, string>>) {
  return admin(['credential', 'revoke', ...args], await temporaryFolder(), settings(limits));
}

const statusOf = async (headers: Record<string, string>, where: Pick<TestApp, 'fetch'> = app) =>
  (await where.fetch('/graphql?query={viewer{id}}', { headers })).status;

const EVERYTHING = { sessions: 2, streamTokens: 2, oauthGrants: 1, oauthClients: 1, links: 0, apiKeys: 1 };
const CASES: [string, readonly Credential[], Readonly<Record<string, number>>, refreshed: number][] = [
  // One session of the login, one of the OAuth pages.
  ['--sessions', ['session', 'stream token of the session'], { sessions: 2, streamTokens: 1 }, 200],
  ['--api-keys', ['key', 'stream token of the key'], { apiKeys: 1, streamTokens: 1 }, 200],
  ['--oauth-grants', ['OAuth grant'], { oauthGrants: 1, streamTokens: 0 }, 400],
  ['--all', CREDENTIALS, EVERYTHING, 400],
];

async function setUp(): Promise<{ who: Holder; instances: readonly Pick<TestApp, 'fetch'>[] }> {
  // Only a notification ends a stream.
  const config = { ...app.config, credentialRecheckMs: NEVER_MS };
  const instances = [secondInstance(app, { config }), await instanceOnOwnPool(app, config)];
  return { instances, who: await holder(app, instances) };
}

it.each(CASES)(
  '%s ends that of one account, and nothing of others',
  async (option, ended, counts, refreshed) => {
    const { who, instances } = await setUp();
    const other = await visitor(app);
    const done = await revokeAll([option, '--user', who.email.toUpperCase()]);
    expect(done, done.stderr).toMatchObject({ code: 0, json: { accounts: 1 } });
    expect(done.json.revoked).toEqual(counts);
    await expectRevoked(app, who, instances, ended, other.key);
    expect(await who.refresh()).toBe(refreshed);
    expect(await statusOf({ cookie: other.cookie })).toBe(200);
    // The password stays.
    expect(await statusOf({ cookie: await freshCookie(app, who.email) })).toBe(200);
  },
);

it.each(CASES)(
  '%s ends that of all accounts, disabled ones too',
  async (option, ended, counts, refreshed) => {
    const { who, instances } = await setUp();
    const disabled = await visitor(app);
    const disable = (disabledAt: Date | null) =>
      app.prisma.user.update({ where: { id: disabled.id }, data: { disabledAt } });
    await disable(new Date());
    const { code, json, stderr } = await revokeAll([option]);
    expect(code, stderr).toBe(0);
    expect(json.accounts).toBe(await app.prisma.user.count());
    expect(Object.keys(json.revoked).sort()).toEqual(Object.keys(counts).sort());
    for (const [kind, count] of Object.entries(counts))
      expect(json.revoked[kind], kind).toBeGreaterThanOrEqual(count);
    await expectRevoked(app, who, instances, ended, (await app.account()).key);
    // The client of the grant ends with everything of its own owner.
    expect(await who.refresh()).toBe(option === '--all' ? 401 : refreshed);
    await disable(null);
    const lost = (credential: Credential) => (ended.includes(credential) ? 401 : 200);
    await expect.poll(() => statusOf({ cookie: disabled.cookie })).toBe(lost('session'));
    await expect.poll(() => statusOf({ authorization: `Bearer ${disabled.key}` })).toBe(lost('key'));
  },
);

it('--all ends JWTs that were issued before it, of whoever has them', async () => {
  const who = await visitor(app);
  const jwt = async (claims: Record<string, unknown>) => ({
    authorization: `Bearer ${await signToken(who.id, { claims })}`,
  });
  const before = await jwt({ iat: Math.floor(Date.now() / 1000) - 1 });
  expect(await statusOf(before)).toBe(200);
  expect((await revokeAll(['--all'])).code).toBe(0);
  await expect.poll(() => statusOf(before)).toBe(401);
  expect(await statusOf(await jwt({}))).toBe(401);
  expect(await statusOf(await jwt({ iat: Math.floor(Date.now() / 1000) + 2 }))).toBe(200);
});

/** Has a transaction of somebody else lock an account. */
async function lock(id: string) {
  const client = await besidePool(app);
  await client.query('BEGIN');
  await client.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [id]);
  return async () => void (await client.query('ROLLBACK'));
}

it('waits for an account that somebody has locked when all others are done, and holds none of them', async () => {
  const [locked, other] = [await visitor(app), await visitor(app)];
  const release = await lock(locked.id);
  const dataDir = await temporaryFolder();
  const command = runScript('src/admin/main.ts', ['credential', 'revoke', '--sessions'], {
    ...settings(),
    DATA_DIR: dataDir,
  });
  await until('the end of the session', async () => (await statusOf({ cookie: other.cookie })) === 401);
  // A log-in locks its account.
  expect(await statusOf({ cookie: await freshCookie(app, other.email) })).toBe(200);
  expect(command.stdout).toBe('');
  await release();
  const { code, stderr } = await command.exited;
  expect(code, stderr).toBe(0);
  expect(await statusOf({ cookie: locked.cookie })).toBe(401);
});

it('says which accounts stay locked, and has done all others', async () => {
  const [locked, other] = [await visitor(app), await visitor(app)];
  const release = await lock(locked.id);
  onTestFinished(release);
  const { code, stdout, stderr } = await revokeAll(['--api-keys'], { STATEMENT_TIMEOUT_MS: '3000' });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(new RegExp(`^[^\\n]* 1 accounts locked[^\\n]*${locked.id}[^\\n]*again\\.\\n$`));
  await expect.poll(() => statusOf({ authorization: `Bearer ${other.key}` })).toBe(401);
});

it('ends what 1,500 accounts have, however often it is killed', async () => {
  await run(
    postgresOf(app).url,
    `WITH many AS (
       INSERT INTO users (id, name, email, email_key)
       SELECT gen_random_uuid(), 'Many', n || '@many.example', n || '@many.example' FROM generate_series(1, 1500) n RETURNING id),
     signed_in AS (
       INSERT INTO sessions (id, user_id, hash, last_seen_at, expires_at, absolute_expires_at)
       SELECT gen_random_uuid(), id, uuid_send(gen_random_uuid()), now(), now() + interval '1 day', now() + interval '1 day'
       FROM many, generate_series(1, 10))
     INSERT INTO api_keys (id, user_id, name, prefix, hash, scopes)
     SELECT gen_random_uuid(), id, 'k', 'cga_', uuid_send(gen_random_uuid()), '{posts:read}' FROM many, generate_series(1, 10)`,
  );
  const left = () => app.prisma.session.count();
  const all = await left();
  expect(all).toBeGreaterThanOrEqual(15_000);
  // A command waits for this account in the end: it is still there to be killed.
  const release = await lock((await visitor(app)).id);
  for (const begun of [all, all / 2]) {
    const killed = runScript('src/admin/main.ts', ['credential', 'revoke', '--all'], {
      ...settings(),
      DATA_DIR: await temporaryFolder(),
    });
    await until('a part to end', async () => (await left()) < begun);
    killed.kill('SIGKILL');
    await killed.exited;
  }
  await release();
  const done = await revokeAll(['--all']);
  expect(done.code, done.stderr).toBe(0);
  expect(await left()).toBe(0);
  expect(await app.prisma.apiKey.count({ where: { revokedAt: null } })).toBe(0);
  expect(await app.prisma.user.count({ where: { tokensValidFrom: null } })).toBe(0);
  const nothing = Object.fromEntries(Object.keys(EVERYTHING).map((kind) => [kind, 0]));
  expect((await revokeAll(['--all'])).json.revoked).toEqual(nothing);
});
