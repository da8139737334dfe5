import { describe, expect, it } from 'vitest';
import { API_KEY } from '../../../src/auth/api-keys.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { cookieOf, freshCookie, gqlAs, login, PASSWORD, visitor } from '../../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../../support/credentials/tokens.ts';
import { dataOf, expectBadInput, expectForbidden } from '../../support/rejection.ts';

const app = useApp({ settings: { JWT_SECRET } });
const VIEWER = '{ viewer { id } }';

const CREATE_KEY = `mutation ($name: String!, $scopes: [String!]!, $expiresAt: DateTime) {
  createApiKey(name: $name, scopes: $scopes, expiresAt: $expiresAt, currentPassword: "${PASSWORD}") {
    key apiKey { id name prefix scopes createdAt lastUsedAt expiresAt } } }`;
const REVOKE_KEY = 'mutation ($id: ID!) { revokeApiKey(id: $id) }';
const REVOKE_SESSION = 'mutation ($id: ID!) { revokeSession(id: $id) }';
const KEYS = '{ viewer { apiKeys { id name prefix scopes createdAt lastUsedAt expiresAt } } }';
const SESSIONS = '{ viewer { sessions { id userAgent createdAt lastSeenAt expiresAt current } } }';

describe.each(['apiKeys', 'sessions', 'oauthGrants', 'externalIdentities'])('User.%s', (field) => {
  it('is for sessions: forbidden to API keys and JWTs, whatever they may do', async () => {
    const { key, id } = await visitor(app, { role: 'admin' });
    const query = `{ viewer { ${field} { id } } }`;
    expectForbidden(await app.gql(query, { key }));
    expectForbidden(await app.gql(query, { key: await signToken(id) }));
    expect((await app.gql(query)).status).toBe(401);
  });

  it('is the viewer’s own business, also where an admin asks', async () => {
    const { cookie } = await visitor(app, { role: 'admin' });
    const { id } = await app.account();
    const response = await gqlAs(app, cookie, `query ($id: ID!) { user(id: $id) { ${field} { id } } }`, {
      variables: { id },
    });
    expect(response.errors?.map(({ extensions }) => extensions.code)).toEqual(['FORBIDDEN']);
    expect(response.data).toEqual({ user: null });
  });

  it('costs one read however often the viewer stands in a result', async () => {
    const { cookie, key } = await visitor(app);
    await createPost(app, key);
    await createPost(app, key);
    const query = `{ viewer { posts { author { ${field} { id } } } } }`;
    const { viewer } = dataOf(await gqlAs(app, cookie, query));
    expect(viewer.posts).toHaveLength(2);
    expect(viewer.posts[0].author[field]).toHaveLength(field === 'apiKeys' || field === 'sessions' ? 1 : 0);
    expect(viewer.posts[1].author).toEqual(viewer.posts[0].author);
  });
});

describe('Mutation.createApiKey', () => {
  it('shows the key this once, and the key works with its scopes', async () => {
    const { cookie, id } = await visitor(app);
    const expiresAt = '2199-01-01T00:00:00.000Z';
    const variables = { name: 'Build server', scopes: ['posts:read', 'users:read'], expiresAt };
    const { createApiKey } = dataOf(await gqlAs(app, cookie, CREATE_KEY, { variables }));
    const { key, apiKey } = createApiKey;
    expect(API_KEY.isWellFormed(key)).toBe(true);
    expect(apiKey).toEqual({
      ...variables,
      id: expect.any(String),
      prefix: key.slice(0, apiKey.prefix.length),
      createdAt: expect.any(String),
      lastUsedAt: null,
    });
    expect(apiKey.prefix.length).toBeLessThan(12);
    expect(dataOf(await app.gql(VIEWER, { key })).viewer.id).toBe(id);
    expectForbidden(await app.gql('mutation { createPost(title: "T", body: "B") { id } }', { key }));
    const { viewer } = dataOf(await gqlAs(app, cookie, KEYS));
    expect(viewer.apiKeys[0]).toMatchObject({ id: apiKey.id, name: 'Build server' });
    expect(viewer.apiKeys).toHaveLength(2);
    expect(JSON.stringify(viewer)).not.toContain(key);
  });

  it('rejects scopes beyond the role', async () => {
    const member = await visitor(app);
    const variables = { name: 'x', scopes: ['posts:read', 'users:email'] };
    expectForbidden(await gqlAs(app, member.cookie, CREATE_KEY, { variables }));
    const admin = await visitor(app, { role: 'admin' });
    dataOf(await gqlAs(app, admin.cookie, CREATE_KEY, { variables }));
  });

  it.each([
    ['name', { name: '' }],
    ['name', { name: ' ' }],
    ['name', { name: 'x'.repeat(101) }],
    ['scopes', { scopes: [] }],
    ['scopes', { scopes: ['everything'] }],
    ['scopes', { scopes: ['posts:read', 'posts:read'] }],
    ['expiresAt', { expiresAt: '2001-01-01T00:00:00Z' }],
  ])('rejects a bad %s', async (argument, wrong) => {
    const { cookie } = await visitor(app);
    const variables = { name: 'x', scopes: ['posts:read'], ...wrong };
    expectBadInput(await gqlAs(app, cookie, CREATE_KEY, { variables }), argument);
  });
});

describe('Mutation.revokeApiKey', () => {
  it('ends the key, once', async () => {
    const { cookie, key } = await visitor(app);
    const id = dataOf(await gqlAs(app, cookie, KEYS)).viewer.apiKeys[0].id;
    const revoke = async () =>
      dataOf(await gqlAs(app, cookie, REVOKE_KEY, { variables: { id } })).revokeApiKey;
    expect(await revoke()).toBe(true);
    expect(await revoke()).toBe(false);
    expect(dataOf(await gqlAs(app, cookie, KEYS)).viewer.apiKeys).toEqual([]);
    await expect.poll(async () => (await app.gql(VIEWER, { key })).status).toBe(401);
  });

  it('does not reach the keys of others', async () => {
    const victim = await visitor(app);
    const { cookie } = await visitor(app, { role: 'admin' });
    const id = dataOf(await gqlAs(app, victim.cookie, KEYS)).viewer.apiKeys[0].id;
    for (const wanted of [id, 'x'])
      expect(dataOf(await gqlAs(app, cookie, REVOKE_KEY, { variables: { id: wanted } })).revokeApiKey).toBe(
        false,
      );
    expect(dataOf(await gqlAs(app, victim.cookie, KEYS)).viewer.apiKeys).toHaveLength(1);
  });
});

describe('User.sessions', () => {
  it('names the one that asks, and what each browser called itself', async () => {
    const { email, cookie } = await visitor(app);
    const other = await login(app, { email, password: PASSWORD }, { 'user-agent': 'Firefox on a phone' });
    const list = async (as: string) =>
      dataOf(await gqlAs(app, as, SESSIONS)).viewer.sessions as { userAgent: string; current: boolean }[];
    const seen = await list(cookieOf(other));
    expect(seen).toHaveLength(2);
    expect(seen.filter(({ current }) => current)).toMatchObject([{ userAgent: 'Firefox on a phone' }]);
    expect((await list(cookie)).filter(({ current }) => current)).toMatchObject([{ userAgent: null }]);
  });
});

describe('Mutation.revokeSession', () => {
  it('ends a session of one’s own, also the one that asks, and nobody else’s', async () => {
    const { email, cookie } = await visitor(app);
    const other = await freshCookie(app, email);
    const stranger = await visitor(app);
    const own = async (as: string) =>
      dataOf(await gqlAs(app, as, SESSIONS)).viewer.sessions.find((s: { current: boolean }) => s.current).id;
    const revoke = async (as: string, id: string) =>
      dataOf(await gqlAs(app, as, REVOKE_SESSION, { variables: { id } })).revokeSession;
    expect(await revoke(stranger.cookie, await own(other))).toBe(false);
    const id = await own(other);
    expect(await revoke(cookie, id)).toBe(true);
    expect(await revoke(cookie, id)).toBe(false);
    expect((await gqlAs(app, other, VIEWER)).status).toBe(401);
    expect(await revoke(cookie, await own(cookie))).toBe(true);
    expect((await gqlAs(app, cookie, VIEWER)).status).toBe(401);
  });
});
