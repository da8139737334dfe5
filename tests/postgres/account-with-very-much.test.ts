import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { oauthClient } from '../support/credentials/oauth.ts';
import { PASSWORD, person } from '../support/credentials/session.ts';
import { postgresOf } from '../support/database/postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { run } from '../support/processes/started.ts';

const app = useApp();
const GRANTS = 40_000;
/** So short that one statement cannot end all of it. */
const LIMIT = { STATEMENT_TIMEOUT_MS: '1000' };

const command = async (args: readonly string[], input?: string) =>
  admin(args, await temporaryFolder(), { DATABASE_URL: postgresOf(app).url, ...LIMIT }, input);

/** Somebody with a great number of grants, each with an authorization, and of sessions. */
async function hoarder() {
  const who = await person(app);
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
     FROM generate_series(1, 2000)`,
  );
  const left = async () => {
    const { prisma } = app;
    const where = { where: { userId: who.id } };
    return [await prisma.oAuthGrant.count(where), await prisma.session.count(where)];
  };
  expect(await left()).toEqual([GRANTS, 2_000]);
  return { ...who, left };
}

it('ends with "user enable --revoke", and each thing is counted once', async () => {
  const who = await hoarder();
  const { json, stderr } = await command(['user', 'enable', who.email, '--revoke']);
  expect(json?.ended, stderr).toEqual({
    sessions: 2_000,
    streamTokens: 0,
    oauthGrants: GRANTS,
    oauthClients: 0,
    links: 0,
    apiKeys: 1,
  });
  expect(await who.left()).toEqual([0, 0]);
});

it('ends with a new password', async () => {
  const who = await hoarder();
  const { json, stderr } = await command(
    ['user', 'set-password', who.email, '--password-stdin'],
    `${PASSWORD} 2\n`,
  );
  expect(json?.ended, stderr).toEqual({ sessions: 2_000, streamTokens: 0, oauthGrants: GRANTS, links: 0 });
  expect(await who.left()).toEqual([0, 0]);
});

it('ends with the account', async () => {
  const who = await hoarder();
  const { code, stderr } = await command(['user', 'delete', who.email, '--posts', 'keep']);
  expect(code, stderr).toBe(0);
  expect(await who.left()).toEqual([0, 0]);
  expect(await app.prisma.apiKey.count({ where: { userId: who.id } })).toBe(0);
});
