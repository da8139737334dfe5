import { afterEach, beforeAll, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { oauthClient } from '../support/credentials/oauth.ts';
import { gqlAs, PASSWORD, type Person, person, visitor } from '../support/credentials/session.ts';
import { connect, postgresOf } from '../support/database/postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { run } from '../support/processes/started.ts';
import { dataOf } from '../support/rejection.ts';

const app = useApp();
const GRANTS = 20_000;
/** The most rows that one statement deletes: two batches of 500, the second of which may be incomplete. */
const MOST = 1_000;
const TABLES = ['oauth_grants', 'oauth_records', 'sessions'];

beforeAll(() =>
  run(
    postgresOf(app).url,
    `CREATE TABLE public.deletions (rows bigint);
     CREATE FUNCTION public.note_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       INSERT INTO public.deletions SELECT count(*) FROM gone;
       RETURN NULL;
     END $$;
     ${TABLES.map(
       (table) => `CREATE TRIGGER note_deletion AFTER DELETE ON ${table} REFERENCING OLD TABLE AS gone
         FOR EACH STATEMENT EXECUTE FUNCTION public.note_deletion();`,
     ).join(' ')}`,
  ),
);

afterEach(async () => {
  const client = await connect(postgresOf(app).url);
  const { rows } = await client.query<{ most: number }>(
    'SELECT max(rows)::int AS most FROM public.deletions',
  );
  expect(rows[0]?.most).toBeGreaterThan(1);
  expect(rows[0]?.most).toBeLessThanOrEqual(MOST);
});

const command = async (args: readonly string[], input?: string) =>
  admin(args, await temporaryFolder(), { DATABASE_URL: postgresOf(app).url }, input);

/** Somebody with a great number of grants, each with an authorization, and of sessions. A given person has one session. */
async function hoarder(given?: Person) {
  const who = given ?? (await person(app));
  const sessions = given === undefined ? 2_000 : 0;
  const { id: owner } = await app.account();
  const { id } = await oauthClient(app, { owner: { id: owner } });
  await run(
    postgresOf(app).url,
    `WITH clients AS (
       INSERT INTO oauth_clients (id, owner_id, name, grants, scopes, redirect_uris)
       SELECT gen_random_uuid(), owner_id, name, grants, scopes, redirect_uris
       FROM oauth_clients, generate_series(1, ${GRANTS}) WHERE id = '${id}' RETURNING id),
     given AS (
       INSERT INTO oauth_grants (id, user_id, client_id, scopes)
       SELECT gen_random_uuid(), '${who.id}', id, '{posts:read}' FROM clients RETURNING id)
     INSERT INTO oauth_records (model, hash, payload, grant_id, expires_at)
     SELECT 'Grant', uuid_send(gen_random_uuid()), '{}', id, now() + interval '1 day' FROM given;
     INSERT INTO sessions (id, user_id, hash, last_seen_at, expires_at, absolute_expires_at)
     SELECT gen_random_uuid(), '${who.id}', uuid_send(gen_random_uuid()), now(), now() + interval '1 day', now() + interval '1 day'
     FROM generate_series(1, ${sessions})`,
  );
  const left = async () => {
    const { prisma } = app;
    const where = { where: { userId: who.id } };
    return [await prisma.oAuthGrant.count(where), await prisma.session.count(where)];
  };
  expect(await left()).toEqual([GRANTS, given === undefined ? sessions : 1]);
  return { ...who, left };
}

it('ends with "user enable --revoke-credentials", and each thing is counted once', async () => {
  const who = await hoarder();
  const { json, stderr } = await command(['user', 'enable', who.email, '--revoke-credentials']);
  expect(json?.revoked, stderr).toEqual({
    sessions: 2_000,
    streamTokens: 0,
    oauthGrants: GRANTS,
    oauthClients: 0,
    links: 0,
    apiKeys: 1,
  });
  expect(await who.left()).toEqual([0, 0]);
});

it('ends with revokeEverything, which ends what is too much for one transaction before its own transaction', async () => {
  const { cookie, ...account } = await visitor(app);
  const who = await hoarder(account);
  const revoke = (field = '') =>
    gqlAs(app, cookie, `mutation { revokeEverything(currentPassword: "${PASSWORD}") ${field} }`);
  // The second field needs the session that the first one ends, so the transaction is rolled back.
  const { errors } = await revoke(
    `createApiKey(name: "k", scopes: ["posts:read"], currentPassword: "${PASSWORD}") { key }`,
  );
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHENTICATED']);
  expect((await who.left())[0]).toBeLessThanOrEqual(MOST);
  expect(dataOf(await revoke())).toEqual({ revokeEverything: true });
  expect(await who.left()).toEqual([0, 0]);
});

it('ends with a new password', async () => {
  const who = await hoarder();
  const { json, stderr } = await command(
    ['user', 'set-password', who.email, '--password-stdin'],
    `${PASSWORD} 2\n`,
  );
  expect(json?.revoked, stderr).toEqual({ sessions: 2_000, streamTokens: 0, oauthGrants: GRANTS, links: 0 });
  expect(await who.left()).toEqual([0, 0]);
});

it('ends with the account', async () => {
  const who = await hoarder();
  const { code, stderr } = await command(['user', 'delete', who.email, '--content', 'keep']);
  expect(code, stderr).toBe(0);
  expect(await who.left()).toEqual([0, 0]);
  expect(await app.prisma.apiKey.count({ where: { userId: who.id } })).toBe(0);
});
