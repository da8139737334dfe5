import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  askToken,
  authorizeClient,
  exchangeCode,
  oauthClient,
  statusWith,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { person } from '../../support/credentials/session.ts';
import { age } from '../../support/database/aged.ts';

const app = useApp();
const DAY_MS = 86_400_000;

const ownClient = async () => oauthClient(app, { owner: await app.account() });

const refresh = (client: TestClient, token: string) =>
  askToken(app, client, { grant_type: 'refresh_token', refresh_token: token });

async function signedIn(client: TestClient, user: { readonly email: string; readonly password: string }) {
  const { body } = await exchangeCode(app, client, await authorizeClient(app, client, user));
  return { access: String(body.access_token), refresh: String(body.refresh_token) };
}

/** The token of a client that has used the one before. */
async function next(client: TestClient, token: string): Promise<string> {
  const { status, body } = await refresh(client, token);
  expect(status).toBe(200);
  return String(body.refresh_token);
}

/** Makes so many copies of the newest record of a model, each as if it had come a second after the one before. */
async function copies(model: 'Grant' | 'RefreshToken', count: number): Promise<void> {
  const made = await app.prisma.$executeRawUnsafe(
    `INSERT INTO oauth_records (model, hash, payload, family, grant_id, consumed_at, expires_at)
     SELECT r.model, sha256(r.hash || n::text::bytea), r.payload, r.family, r.grant_id,
       CASE r.model WHEN 'RefreshToken' THEN now() END, r.expires_at + n * interval '1 second'
     FROM (SELECT * FROM oauth_records WHERE model = $1 ORDER BY expires_at DESC LIMIT 1) r, generate_series(1, $2::int) n`,
    model,
    count,
  );
  expect(made).toBe(count);
}

describe('the refresh tokens of a sign-in', () => {
  it('are 3,000 at most: the oldest is forgotten, one used lately still ends the sign-in', async () => {
    const client = await ownClient();
    const user = await person(app);
    const { refresh: first } = await signedIn(client, user);
    const elsewhere = await signedIn(client, user);
    await age(app, 'oauth_records', DAY_MS);
    const oldest = await next(client, first);
    // `first` was used already and is the oldest.
    await copies('RefreshToken', 2_998);
    await age(app, 'oauth_records', DAY_MS);
    const used = await next(client, oldest);
    const live = await next(client, used);
    const [counted] = await app.prisma.oAuthRecord.groupBy({
      by: ['family'],
      where: { model: 'RefreshToken' },
      _count: true,
      orderBy: { _count: { family: 'desc' } },
    });
    expect(counted?._count).toBe(3_000);
    // It is unknown, so it ends nothing.
    expect((await refresh(client, first)).body.error).toBe('invalid_grant');
    const last = await next(client, live);
    expect((await refresh(client, used)).body.error).toBe('invalid_grant');
    expect((await refresh(client, last)).body.error).toBe('invalid_grant');
    await next(client, elsewhere.refresh);
  });
});

describe('the sign-ins of a user to a client', () => {
  const ofUser = ({ id: userId }: { readonly id: string }) =>
    app.prisma.oAuthRecord.count({ where: { model: 'Grant', grant: { userId } } });

  it('are 100 at most: the one used longest ago ends with all that belongs to it', async () => {
    const client = await ownClient();
    const [user, other] = [await person(app), await person(app)];
    const others = await signedIn(client, other);
    const toAnother = await signedIn(await ownClient(), user);
    const unused = await signedIn(client, user);
    const renewed = await signedIn(client, user);
    await age(app, 'oauth_records', DAY_MS);
    const kept = await next(client, renewed.refresh);
    await copies('Grant', 97);
    const before = await authorizeClient(app, client, user);
    expect(await ofUser(user)).toBe(101);
    // What has no refresh token yet lasts for an hour only, and still it is not the oldest.
    const after = await authorizeClient(app, client, user);
    expect(await ofUser(user)).toBe(101);
    expect((await refresh(client, unused.refresh)).body.error).toBe('invalid_grant');
    expect(await statusWith(app, unused.access)).toBe(401);
    for (const authorized of [before, after])
      expect((await exchangeCode(app, client, authorized)).status).toBe(200);
    await next(client, kept);
    for (const { access } of [others, toAnother]) expect(await statusWith(app, access)).toBe(200);
  });
});
