import { describe, expect, it } from 'vitest';
import { revokeApiKey } from '../../../src/auth/api-keys.ts';
import { expiredStreamTokens } from '../../../src/auth/credentials.ts';
import { revokeToken } from '../../../src/auth/jwt.ts';
import { disableAccount } from '../../../src/auth/revocation.ts';
import { sessionRevocation } from '../../../src/auth/sessions.ts';
import { revokeStreamToken } from '../../../src/auth/stream-tokens.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { askToken, oauthClient } from '../../support/credentials/oauth.ts';
import { type Visitor, visitor } from '../../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../../support/credentials/tokens.ts';
import { age } from '../../support/database/aged.ts';
import { secondInstance } from '../../support/second-instance.ts';
import type { EventStream } from '../../support/streams/event-stream.ts';
import { issueToken, openByToken, requestByToken, requestToken } from '../../support/streams/stream-token.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

/** A clock that can be put forward: what is cached for less than a second is out of date then. */
let aheadMs = 0;
const clock = clockOf(() => Date.now() + aheadMs);
const app = useApp({ settings: { JWT_SECRET, CREDENTIAL_RECHECK_MS: '50' }, clock });
const HOUR_MS = 3_600_000;
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Each kind of credential: what a client sends, and how it is ended. */
interface Kind {
  present(who: Visitor): Promise<Record<string, string>>;
  end(who: Visitor, headers: Record<string, string>): Promise<unknown>;
}

const KINDS: Record<string, Kind> = {
  'an API key': {
    present: async ({ key }) => bearer(key),
    async end({ id }) {
      const { prisma } = app;
      const key = await prisma.apiKey.findFirstOrThrow({ where: { userId: id } });
      return revokeApiKey(app.database, key.id);
    },
  },
  'a session': {
    present: async ({ cookie }) => ({ cookie }),
    end: ({ id }) => app.database.query(sessionRevocation.all, [[id]]),
  },
  'a JWT': {
    present: async ({ id }) => bearer(await signToken(id, { claims: { jti: `jti of ${id}` } })),
    end: ({ id }) => revokeToken(app.database, { jti: `jti of ${id}` }),
  },
  'an OAuth token': {
    async present({ id }) {
      const client = await oauthClient(app, { owner: { id }, grants: ['client_credentials'] });
      return bearer((await askToken(app, client, { grant_type: 'client_credentials' })).body.access_token);
    },
    end: (_who, { authorization = '' }) => {
      const [, claims = ''] = authorization.split('.');
      const { jti } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { jti: string };
      return revokeToken(app.database, { jti });
    },
  },
};

/** The last event of a stream, which has an error instead of a post. */
async function expectEnd(stream: EventStream, code: string): Promise<void> {
  const { data = null, errors } = await stream.next();
  expect(data).toBeNull();
  expect(errors.map((error: { extensions: { code: string } }) => error.extensions.code)).toEqual([code]);
  expect((await stream.event())?.event).toBe('complete');
  expect(await stream.block()).toBeUndefined();
}

describe.each(Object.entries(KINDS))('a stream token behind which is %s', (_name, { present, end }) => {
  it.each<[string, (who: Visitor, headers: Record<string, string>) => Promise<unknown>]>([
    ['when it ends', end],
    ['with its account', ({ id }) => disableAccount(app.database, id)],
  ])('opens its subscription, and ends %s, on every instance', async (_how, finish) => {
    const who = await visitor(app);
    const writer = await app.account();
    const headers = await present(who);
    const token = await issueToken(app, headers);
    const other = secondInstance(app, { clock });
    const opened = [await openByToken(app, token), await openByToken(other, token)];
    const id = await createPost(app, writer.key);
    for (const { stream } of opened) expect((await stream.next()).data.postCreated.id).toBe(id);
    await finish(who, headers);
    for (const { stream } of opened) await expectEnd(stream, 'UNAUTHENTICATED');
    for (const instance of [app, other]) expect((await requestByToken(instance, token)).status).toBe(401);
  });

  it('ends no later than it', async () => {
    const who = await visitor(app);
    const headers = await present(who);
    const response = await requestToken(app, headers);
    const { expiresAt } = (await response.json()) as { expiresAt: string };
    const row = await app.prisma.streamToken.findFirstOrThrow({ where: { userId: who.id } });
    const { credentialExpiresAt, endsAt } = row;
    expect(endsAt.getTime()).toBeLessThanOrEqual(credentialExpiresAt?.getTime() ?? Infinity);
    expect(Date.parse(expiresAt)).toBeLessThanOrEqual(endsAt.getTime());
    expect(endsAt.getTime() - row.createdAt.getTime()).toBeLessThanOrEqual(24 * HOUR_MS);
  });
});

describe('a stream token', () => {
  it('never outlives the API key behind it', async () => {
    const { id, key } = await app.account();
    const { prisma } = app;
    const expireAt = (expiresAt: Date) =>
      prisma.apiKey.updateMany({ where: { userId: id }, data: { expiresAt } });
    const expiresAt = new Date(Date.now() + HOUR_MS / 2);
    await expireAt(expiresAt);
    aheadMs += 1_000;
    const token = await issueToken(app, bearer(key));
    expect(await prisma.streamToken.findFirstOrThrow({ where: { userId: id } })).toMatchObject({
      credentialExpiresAt: expiresAt,
      endsAt: expiresAt,
      expiresAt,
    });
    const { stream } = await openByToken(app, token);
    await expireAt(new Date(Date.now() - 1_000));
    await expectEnd(stream, 'UNAUTHENTICATED');
    expect((await requestByToken(app, token)).status).toBe(401);
  });

  it('ends when it is revoked, and its streams with it; others of the account go on', async () => {
    const { id, key } = await app.account();
    const token = await issueToken(app, bearer(key));
    const { id: tokenId } = await app.prisma.streamToken.findFirstOrThrow({ where: { userId: id } });
    const kept = await openByToken(app, await issueToken(app, bearer(key)));
    const { stream } = await openByToken(app, token);
    expect(await revokeStreamToken(app.database, tokenId)).toBeDefined();
    expect(await revokeStreamToken(app.database, tokenId)).toBeUndefined();
    expect((await requestByToken(app, token)).status).toBe(401);
    await expectEnd(stream, 'UNAUTHENTICATED');
    const post = await createPost(app, key);
    expect((await kept.stream.next()).data.postCreated.id).toBe(post);
  });

  it.each([
    ['is removed from', undefined],
    ['is replaced in', JWT_SECRET.toUpperCase()],
  ])('ends with the key of its JWT, once that %s the settings', async (_how, secret) => {
    const { id } = await app.account();
    const token = await issueToken(app, bearer(await signToken(id)));
    const config = { ...app.config, jwt: { ...app.config.jwt, secret } };
    const restarted = secondInstance(app, { clock, config });
    expect((await requestByToken(restarted, token)).status).toBe(401);
    const { stream } = await openByToken(app, token);
    await stream.close();
  });

  it('has the present scopes of its credential: what they lose, an open stream loses too', async () => {
    const { id, key } = await app.account();
    const token = await issueToken(app, bearer(key));
    const { stream } = await openByToken(app, token);
    await app.prisma.apiKey.updateMany({ where: { userId: id }, data: { scopes: ['users:read'] } });
    await expectEnd(stream, 'FORBIDDEN');
    expect((await requestByToken(app, token)).status).toBe(403);
  });

  it('can be issued with a token that has the latest expiry there is', async () => {
    const { id } = await app.account();
    for (const exp of [1e13, Number.MAX_SAFE_INTEGER]) {
      const jwt = await signToken(id, { claims: { exp } });
      expect((await requestToken(app, bearer(jwt))).status).toBe(200);
    }
  });

  it('ends by the clock of the database, whatever the one of the instance says', async () => {
    const { id, key } = await app.account();
    const exp = Math.floor(Date.now() / 1000) + 30 * 24 * 3_600;
    const jwt = await signToken(id, { claims: { exp } });
    const tokens = [await issueToken(app, bearer(jwt)), await issueToken(app, bearer(key))];
    const ahead = secondInstance(app, { clock: clockOf(() => Date.now() + 25 * HOUR_MS) });
    const opened = await Promise.all(tokens.map((token) => openByToken(ahead, token)));
    const checks = async () => {
      const rows = await app.prisma.streamToken.findMany({ where: { userId: id } });
      return rows.filter(({ lastUsedAt }) => lastUsedAt.getTime() > Date.now() - HOUR_MS / 2).length;
    };
    // Once an open stream's use is noted, its credentials have been checked.
    await age(app, 'stream_tokens', HOUR_MS / 2);
    aheadMs += 120_000;
    await expect.poll(checks).toBe(2);
    const post = await createPost(app, key);
    for (const { stream } of opened) expect((await stream.next()).data.postCreated.id).toBe(post);
  });

  it('of an admin loses the e-mails of others with the role', async () => {
    const admin = await visitor(app, { role: 'admin' });
    const writer = await app.account();
    const token = await issueToken(
      app,
      { cookie: admin.cookie },
      { query: 'subscription { postCreated { id author { email } } }' },
    );
    const { stream } = await openByToken(app, token);
    await createPost(app, writer.key);
    expect((await stream.next()).data.postCreated.author.email).toBe(writer.email);
    await app.prisma.user.update({ where: { id: admin.id }, data: { role: 'member' } });
    // It is interrupted, not completed: it may go on with what its account may see.
    expect(await stream.event()).toBeUndefined();
    const again = await openByToken(app, token);
    await createPost(app, writer.key);
    expect((await again.stream.next()).errors[0].extensions.code).toBe('FORBIDDEN');
  });
});

describe('the time of a stream token', () => {
  const rowOf = (userId: string) => app.prisma.streamToken.findFirstOrThrow({ where: { userId } });

  it('is an hour after its last use, an open stream counting as use', async () => {
    const { id, key } = await app.account();
    const token = await issueToken(app, bearer(key));
    const before = await rowOf(id);
    const { stream } = await openByToken(app, token);
    await age(app, 'stream_tokens', HOUR_MS - 60_000);
    aheadMs += 120_000;
    // The next check of the open stream notes its use.
    await expect
      .poll(async () => (await rowOf(id)).expiresAt.getTime())
      .toBeGreaterThanOrEqual(before.expiresAt.getTime());
    await stream.close();
    await age(app, 'stream_tokens', HOUR_MS + 120_000);
    expect((await requestByToken(app, token)).status).toBe(401);
  });

  it('is 24 hours at most, whatever its use', async () => {
    const { id, key } = await app.account();
    const token = await issueToken(app, bearer(key));
    const { stream } = await openByToken(app, token);
    const { endsAt, createdAt } = await rowOf(id);
    expect(endsAt.getTime() - createdAt.getTime()).toBe(24 * HOUR_MS);
    // Its last half hour has begun, and its use is to be noted.
    const endsSoon = new Date(Date.now() + HOUR_MS / 2);
    await app.prisma.streamToken.updateMany({
      where: { userId: id },
      data: {
        endsAt: endsSoon,
        expiresAt: new Date(Date.now() + HOUR_MS / 4),
        lastUsedAt: new Date(Date.now() - HOUR_MS / 2),
      },
    });
    aheadMs += 120_000;
    await expect
      .poll(async () => (await rowOf(id)).lastUsedAt.getTime())
      .toBeGreaterThan(Date.now() - HOUR_MS / 4);
    expect((await rowOf(id)).expiresAt).toEqual(endsSoon);
    await app.prisma.streamToken.updateMany({
      where: { userId: id },
      data: { endsAt: new Date(Date.now() - 1_000), expiresAt: new Date(Date.now() - 1_000) },
    });
    await expectEnd(stream, 'UNAUTHENTICATED');
    expect((await requestByToken(app, token)).status).toBe(401);
  });

  it('over, its row is dropped', async () => {
    const { id, key } = await app.account();
    await issueToken(app, bearer(key));
    await app.prisma.streamToken.updateMany({
      where: { userId: id },
      data: { expiresAt: new Date(Date.now() - 1_000) },
    });
    expect(await expiredStreamTokens.run(app.database)).toBeGreaterThanOrEqual(1);
    expect(await app.prisma.streamToken.count({ where: { userId: id } })).toBe(0);
  });
});
