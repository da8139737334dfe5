import type pg from 'pg';
import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { authorizeUrl, Browser, oauthClient, PKCE } from '../support/credentials/oauth.ts';
import { gqlAs, login, PASSWORD, person, visitor } from '../support/credentials/session.ts';
import { besidePool, postgresOf } from '../support/database/postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';

const app = useApp();

async function command(...args: string[]) {
  const done = await admin(args, await temporaryFolder(), { DATABASE_URL: postgresOf(app).url });
  expect(done, done.stderr).toMatchObject({ code: 0, stderr: '' });
}

/** Resolves once a statement that matches waits, by default for a lock, and has done so for a while. */
async function waits(client: pg.Client, pattern: string, event = 'Lock', forMs = 0): Promise<void> {
  await expect
    .poll(
      async () => {
        const { rows } = await client.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = $2 AND query ~ $1
             AND clock_timestamp() - query_start > $3::float8 * interval '1 millisecond'`,
          [pattern, event, forMs],
        );
        return rows.length;
      },
      { message: pattern },
    )
    .toBe(1);
}

const LOCKS_ACCOUNT = 'FROM users WHERE (email_key|id) = \\$1 FOR NO KEY UPDATE';

/** Has a mutation of a session wait for its account while a command, by default one that ends the session, changes it. */
async function overtaken(
  mutation: string,
  waiting: string,
  changed: (email: string) => string[] = (email) => ['enable', email, '--revoke-credentials'],
) {
  const who = await visitor(app);
  const [holder, watcher] = [await besidePool(app), await besidePool(app)];
  await holder.query('BEGIN');
  await holder.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [who.id]);
  const changing = command('user', ...changed(who.email));
  await waits(watcher, LOCKS_ACCOUNT);
  const result = gqlAs(app, who.cookie, mutation);
  await waits(watcher, waiting);
  await holder.query('ROLLBACK');
  await changing;
  return { who, result: await result };
}

it('creates no API key for a session that is ended meanwhile', async () => {
  const { who, result } = await overtaken(
    `mutation { createApiKey(name: "late", scopes: ["posts:read"], currentPassword: "${PASSWORD}") { key } }`,
    'FROM users WHERE id = \\$1 FOR NO KEY UPDATE',
  );
  expect(result.errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
  const live = { userId: who.id, revokedAt: null };
  expect(await app.prisma.apiKey.count({ where: live })).toBe(0);
});

const CHANGE_PASSWORD = [
  `mutation { changePassword(currentPassword: "${PASSWORD}", newPassword: "a quite different one") }`,
  'UPDATE users SET password_hash',
] as const;

it('changes no password for a session that is ended meanwhile', async () => {
  const { who, result } = await overtaken(...CHANGE_PASSWORD);
  expect(result.errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
  expect((await login(app, { email: who.email, password: PASSWORD })).status).toBe(200);
});

it('changes no password of an account that is disabled meanwhile, and opens no session', async () => {
  const { who, result } = await overtaken(...CHANGE_PASSWORD, (email) => ['disable', email]);
  expect(result.errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
  await command('user', 'enable', who.email);
  expect((await gqlAs(app, who.cookie, '{ viewer { id } }')).status).toBe(200);
  expect((await login(app, { email: who.email, password: PASSWORD })).status).toBe(200);
});

it('records no consent of a session that is ended meanwhile, and asks who it is', async () => {
  const [who, owner] = [await person(app), await app.account()];
  const client = await oauthClient(app, { owner });
  const browser = new Browser(app);
  const asked = await browser.open(authorizeUrl(client, { challenge: PKCE().challenge }));
  const { response } = await browser.submit(await asked.response.text(), {
    email: who.email,
    password: PASSWORD,
  });
  const consent = await response.text();
  const [holder, watcher] = [await besidePool(app), await besidePool(app)];
  await holder.query('BEGIN');
  await holder.query('SELECT FROM oauth_clients WHERE id = $1 FOR UPDATE', [client.id]);
  const allowing = browser.submit(consent);
  await waits(watcher, 'INSERT INTO oauth_grants');
  await command('user', 'enable', who.email, '--revoke-credentials');
  await holder.query('ROLLBACK');
  const { response: shown, left } = await allowing;
  expect(left).toBeUndefined();
  expect(await shown.text()).toContain('name="password"');
  expect(await app.prisma.oAuthGrant.count({ where: { userId: who.id } })).toBe(0);
});

it('user disable of an account that is deleted meanwhile says that there is none', async () => {
  const who = await person(app);
  const [holder, watcher] = [await besidePool(app), await besidePool(app)];
  await holder.query('BEGIN');
  await holder.query('DELETE FROM users WHERE id = $1', [who.id]);
  const disabling = admin(['user', 'disable', who.email], await temporaryFolder(), {
    DATABASE_URL: postgresOf(app).url,
  });
  // Longer than a request's statement would wait: whoever locks the account again and again cannot keep the command off.
  await waits(watcher, 'users', 'Lock', 500);
  await holder.query('COMMIT');
  expect(await disabling).toMatchObject({
    code: 1,
    stderr: `Account "${who.email}" does not exist. Run "user list" to see all accounts.\n`,
  });
});

/** Keeps a mutation with a key from committing once it has written everything. */
const HOLD = 4_712;
const HOLD_RESPONSES = `
  CREATE FUNCTION hold_answer() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    -- Waiting for a lock, it would begin again.
    WHILE NOT pg_try_advisory_xact_lock(${HOLD}) LOOP PERFORM pg_sleep(0.01); END LOOP;
    RETURN NULL;
  END $$;
  CREATE TRIGGER zzz_hold AFTER INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION hold_answer()`;

it('user delete --content keep leaves no stored response of a mutation that is still running', async () => {
  const who = await app.account();
  const [holder, watcher] = [await besidePool(app), await besidePool(app)];
  await holder.query(HOLD_RESPONSES);
  await holder.query('SELECT pg_advisory_lock($1)', [HOLD]);
  const result = app.gql('mutation { createPost(title: "late", body: "b") { id } }', {
    key: who.key,
    headers: { 'idempotency-key': 'late' },
  });
  await waits(watcher, 'idempotency_keys', 'Timeout');
  const deleting = command('user', 'delete', who.email, '--content', 'keep');
  await waits(watcher, 'UPDATE .*"users" SET "name" = ');
  await holder.query('SELECT pg_advisory_unlock($1)', [HOLD]);
  await deleting;
  expect((await result).errors).toBeUndefined();
  expect(await app.prisma.idempotencyKey.count({ where: { userId: who.id } })).toBe(0);
});
