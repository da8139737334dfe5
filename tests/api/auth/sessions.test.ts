import { describe, expect, it } from 'vitest';
import { expiredSessions, expiredTokens } from '../../../src/auth/credentials.ts';
import { revokeToken } from '../../../src/auth/jwt.ts';
import { newId } from '../../../src/platform/ids.ts';
import { ORIGIN, useApp } from '../../support/app.ts';
import { freshCookie, gqlAs, visitor } from '../../support/credentials/session.ts';
import { age } from '../../support/database/aged.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { dataOf } from '../../support/rejection.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** The clock of this instance is wrong by years: nothing here goes by it. */
let nowMs = Date.UTC(2041, 0, 1);
const app = useApp({ settings: { CORS_ORIGINS: 'https://app.example.com' }, clock: clockOf(() => nowMs) });

/** Lets time pass, for the database and for the service. */
async function pass(ms: number): Promise<void> {
  nowMs += ms;
  await age(app, 'sessions', ms);
}
const VIEWER = '{ viewer { id } }';
const CREATE = 'mutation { createPost(title: "T", body: "B") { id } }';

describe('a session', () => {
  it('ends after seven days without use', async () => {
    const { cookie } = await visitor(app);
    await pass(7 * DAY_MS - MINUTE_MS);
    expect((await gqlAs(app, cookie, VIEWER)).status).toBe(200);
    const { cookie: unused } = await visitor(app);
    await pass(7 * DAY_MS);
    const rejected = await gqlAs(app, unused, VIEWER);
    expect(rejected.status).toBe(401);
    expect(rejected.headers.get('www-authenticate')).toContain('invalid_token');
    expect(rejected.headers.getSetCookie()[0]).toContain('Max-Age=0');
  });

  it('ends thirty days after login, however much it is used', async () => {
    const { cookie, id } = await visitor(app);
    const lastSeen = async () =>
      (await app.prisma.session.findFirstOrThrow({ where: { userId: id } })).lastSeenAt.getTime();
    for (let day = 0; day < 29; day += 1) {
      await pass(DAY_MS);
      const before = await lastSeen();
      expect((await gqlAs(app, cookie, VIEWER)).status).toBe(200);
      await expect.poll(lastSeen).toBeGreaterThan(before);
    }
    await pass(DAY_MS - MINUTE_MS);
    expect((await gqlAs(app, cookie, VIEWER)).status).toBe(200);
    await pass(MINUTE_MS);
    expect((await gqlAs(app, cookie, VIEWER)).status).toBe(401);
  });

  it('stores its last use once a minute at most', async () => {
    const { cookie, id } = await visitor(app);
    const lastSeen = async () =>
      (await app.prisma.session.findFirstOrThrow({ where: { userId: id } })).lastSeenAt.getTime();
    await pass(30_000);
    const before = await lastSeen();
    await gqlAs(app, cookie, VIEWER);
    await pass(30_000);
    expect(await lastSeen()).toBe(before - 30_000);
    await gqlAs(app, cookie, VIEWER);
    await expect.poll(lastSeen).toBeGreaterThan(before);
    const seen = await lastSeen();
    await gqlAs(app, cookie, VIEWER);
    await pass(30_000);
    expect(await lastSeen()).toBe(seen - 30_000);
  });

  it('is found among other cookies, and is nothing but its id', async () => {
    const { cookie, key } = await visitor(app);
    expect((await gqlAs(app, `theme=dark; ${cookie}; lang=en`, VIEWER)).status).toBe(200);
    expect((await gqlAs(app, `x${cookie}`, VIEWER)).status).toBe(401);
    for (const value of ['', 'A'.repeat(43), key, `${cookie.slice(11)}x`])
      expect((await gqlAs(app, `session_id=${value}`, VIEWER)).status).toBe(401);
    expect((await app.gql(VIEWER, { key: cookie.slice(11) })).status).toBe(401);
  });
});

describe('a request with a session that does more than read', () => {
  const own = ORIGIN;
  it.each([
    ['neither header', {}, 200],
    ['the own origin', { origin: own }, 200],
    ['an origin of CORS_ORIGINS', { origin: 'https://app.example.com' }, 200],
    ['another origin', { origin: 'https://evil.example.com' }, 403],
    ['the own host on another port', { origin: 'http://127.0.0.1:4001' }, 403],
    ['the own host over another scheme', { origin: 'https://127.0.0.1:4000' }, 403],
    ['an opaque origin', { origin: 'null' }, 403],
    [
      'another origin that calls itself same-origin',
      { origin: 'https://evil.example.com', 'sec-fetch-site': 'same-origin' },
      403,
    ],
    ['Sec-Fetch-Site: same-origin', { 'sec-fetch-site': 'same-origin' }, 200],
    ['Sec-Fetch-Site: none', { 'sec-fetch-site': 'none' }, 200],
    ['Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site' }, 403],
    ['Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site' }, 403],
  ] as [string, Record<string, string>, number][])('%s', async (_what, headers, status) => {
    const { cookie, id } = await visitor(app);
    const result = await gqlAs(app, cookie, CREATE, { headers });
    expect(result.status).toBe(status);
    if (status === 403)
      expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['FORBIDDEN']);
    expect(await app.prisma.post.count({ where: { authorId: id } })).toBe(status === 200 ? 1 : 0);
    const logout = await app.fetch('/logout', { method: 'POST', headers: { cookie, ...headers } });
    expect(logout.status).toBe(status === 200 ? 204 : 403);
    expect((await gqlAs(app, cookie, VIEWER)).status).toBe(status === 200 ? 401 : 200);
  });

  it('is told its origin before the limits', async () => {
    const { cookie } = await visitor(app);
    const headers = { origin: 'https://evil.example.com', 'x-show-cost': '1' };
    const dear = CREATE.replace('id', 'author { posts(limit: 100) { comments(limit: 100) { id } } }');
    const result = await gqlAs(app, cookie, dear, { headers });
    expect([result.status, result.errors?.[0]?.extensions.code]).toEqual([403, 'FORBIDDEN']);
    expect((await gqlAs(app, cookie, dear)).status).toBe(400);
  });

  it.each([
    ['http://evil.example.com:4000', 403],
    ['http://localhost:4000', 200],
    ['http://192.0.2.7:4000', 200],
    ['http://[::1]:4000', 200],
  ])('at the address %s, from a page of the same', async (origin, status) => {
    const { cookie } = await visitor(app);
    const result = await app.fetch(`${origin}/graphql`, graphqlPost(CREATE, { headers: { cookie, origin } }));
    expect(result.status).toBe(status);
  });

  it('as a form of another site posts it, it is not even read', async () => {
    const { cookie } = await visitor(app);
    const response = await app.fetch('/graphql', {
      method: 'POST',
      headers: {
        cookie,
        origin: 'https://evil.example.com',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: `query=${encodeURIComponent(CREATE)}`,
    });
    expect(response.status).toBe(415);
  });

  it('reading is free to any page that gets the cookie sent', async () => {
    const { cookie } = await visitor(app);
    expect(
      (await gqlAs(app, cookie, VIEWER, { headers: { origin: 'https://evil.example.com' } })).status,
    ).toBe(200);
  });

  it('credentials that no browser adds by itself are not asked where they come from', async () => {
    const { key } = await app.account();
    const result = await app.gql(CREATE, { key, headers: { origin: 'https://evil.example.com' } });
    expect(result.status).toBe(200);
  });
});

describe('what has expired', () => {
  it('is dropped, in batches, and nothing else is', async () => {
    const { id, email } = await visitor(app);
    const rows = Array.from({ length: 1_100 }, (_, index) => ({
      userId: id,
      hash: Buffer.from(`${newId()}${index}`),
      lastSeenAt: new Date(Date.now() - 8 * DAY_MS),
      expiresAt: new Date(Date.now() - 1),
      absoluteExpiresAt: new Date(Date.now() + DAY_MS),
    }));
    const cookie = await freshCookie(app, email);
    // More than a login would leave.
    await app.prisma.session.createMany({ data: rows });
    expect(await expiredSessions.run(app.database)).toBeGreaterThanOrEqual(1_100);
    expect(await app.prisma.session.count({ where: { userId: id } })).toBe(2);
    expect(dataOf(await gqlAs(app, cookie, VIEWER)).viewer.id).toBe(id);

    const { prisma } = app;
    await revokeToken(app.database, { jti: 'past', expiresAt: new Date(Date.now() - 3 * MINUTE_MS) });
    await revokeToken(app.database, { jti: 'future', expiresAt: new Date(Date.now() + MINUTE_MS) });
    await revokeToken(app.database, { jti: 'for good' });
    expect(await expiredTokens.run(app.database)).toBe(1);
    const left = await prisma.revokedToken.findMany({ select: { jti: true }, orderBy: { jti: 'asc' } });
    expect(left.map(({ jti }) => jti)).toEqual(['for good', 'future']);
  });
});
