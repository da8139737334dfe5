import { describe, expect, it } from 'vitest';
import { type Scope, scopesOfRole } from '../../../src/auth/scopes.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { jwk, lastingToken, relyingOn, useIssuer } from '../../support/credentials/issuer.ts';
import { JWT_SECRET, newEcPair, signToken } from '../../support/credentials/tokens.ts';
import { send } from '../../support/keyed.ts';

const pair = newEcPair();
const app = useApp({ settings: { JWT_SECRET, JWT_PUBLIC_KEY: pair.pem } });
const limited = useApp({
  settings: { JWT_SECRET, JWT_PUBLIC_KEY: pair.pem, JWT_DEFAULT_SCOPES: 'posts:read,users:read' },
});
const issuer = useIssuer();

/** For some scopes of members, an operation that needs no other scope. */
const OPERATIONS = {
  'posts:read': '{ posts(limit: 1) { id } }',
  'posts:write': 'mutation { deletePost(id: "none") }',
  'comments:write': 'mutation { deleteComment(id: "none") }',
  'users:read': '{ viewer { id } }',
} as const satisfies Partial<Record<Scope, string>>;
const MEMBER = scopesOfRole('member').filter((scope) => scope in OPERATIONS);

/** The scopes that a token of a member has, or the status if the service rejects the token. */
async function findScopes(
  service: Pick<TestApp, 'fetch'>,
  token: string,
): Promise<readonly Scope[] | number> {
  const allowed: Scope[] = [];
  for (const [name, query] of Object.entries(OPERATIONS)) {
    const scope = name as Scope;
    const { status, codes } = await send(service, { query, key: token });
    if (status === 401) return status;
    expect([200, 403]).toContain(status);
    if (status === 200 && codes.length === 0) allowed.push(scope);
  }
  return allowed;
}

async function findScopesFor(claims: Record<string, unknown>, service: TestApp = app) {
  const { id } = await service.account();
  return findScopes(service, await signToken(id, { claims }));
}

describe('the scopes of a JWT', () => {
  it.each<[string, Record<string, unknown>, readonly Scope[]]>([
    ['scope as a string', { scope: 'posts:read users:read' }, ['posts:read', 'users:read']],
    ['scp as a string', { scp: 'posts:read users:read' }, ['posts:read', 'users:read']],
    ['scp as a list', { scp: ['users:read', 'posts:write'] }, ['posts:write', 'users:read']],
    ['permissions as a list', { permissions: ['comments:write'] }, ['comments:write']],
    ['an empty scope', { scope: '' }, []],
    ['an empty list of permissions', { permissions: [] }, []],
    [
      'permissions beside scopes of OpenID Connect',
      { scope: 'openid profile', permissions: ['posts:read'] },
      ['posts:read'],
    ],
    ['scopes of other services', { scope: 'openid email posts:read', scp: undefined }, ['posts:read']],
    ['a scope that only admins can have', { scp: ['users:email', 'users:read'] }, ['users:read']],
  ])('are the scopes in %s', async (_claim, claims, scopes) => {
    expect(await findScopesFor(claims)).toEqual(scopes);
  });

  it.each<[string, Record<string, unknown>, readonly Scope[]]>([
    [
      'scope and permissions',
      { scope: 'posts:read posts:write', permissions: ['posts:read', 'users:read'] },
      ['posts:read'],
    ],
    ['scope and scp', { scope: 'users:read', scp: ['users:read', 'posts:read'] }, ['users:read']],
    ['scp and permissions', { scp: 'posts:write posts:read', permissions: ['posts:write'] }, ['posts:write']],
    ['three claims', { scope: 'posts:read users:read', scp: 'users:read', permissions: ['posts:read'] }, []],
    ['scope and no permissions', { scope: 'posts:read', permissions: [] }, []],
  ])('are the scopes in each of %s', async (_claims, claims, scopes) => {
    expect(await findScopesFor(claims)).toEqual(scopes);
  });

  it.each(['scope', 'scp', 'permissions'])(
    'are never used with a malformed %s: the token is 401',
    async (claim) => {
      for (const malformed of [7, true, null, { 'posts:read': true }, [7], ['posts:read', null]]) {
        expect(await findScopesFor({ [claim]: malformed })).toBe(401);
        const others = { scope: 'posts:read', scp: 'posts:read', permissions: ['posts:read'] };
        expect(await findScopesFor({ ...others, [claim]: malformed })).toBe(401);
      }
    },
  );
});

describe('a JWT without scopes', () => {
  it('has all scopes of its role, if the operator has configured the key', async () => {
    expect(await findScopesFor({})).toEqual(MEMBER);
    const { id } = await app.account();
    expect(await findScopes(app, await lastingToken(id, pair))).toEqual(MEMBER);
  });

  it('has posts:read, if the key is from JWT_JWKS_URL', async () => {
    const { id } = await app.account();
    const options = { algorithm: 'ES256', key: pair.privateKey };
    const scoped = await signToken(id, { ...options, claims: { scp: ['users:read'] } });
    const plain = await signToken(id, options);
    await relyingOn(app, issuer, [jwk(pair, 'A')], async (on) => {
      expect(await findScopes(on, plain)).toEqual(['posts:read']);
      expect(await findScopes(on, scoped)).toEqual(['users:read']);
    });
  });

  it('has the scopes in JWT_DEFAULT_SCOPES, for a key of any source', async () => {
    const scopes = ['posts:read', 'users:read'];
    expect(await findScopesFor({}, limited)).toEqual(scopes);
    const { id } = await limited.account();
    expect(await findScopes(limited, await lastingToken(id, pair))).toEqual(scopes);
    expect(await findScopesFor({ scope: 'posts:write' }, limited)).toEqual(['posts:write']);
    const token = await lastingToken((await app.account()).id, pair);
    const settings = { JWT_DEFAULT_SCOPES: 'users:read,comments:write' };
    const work = async (on: Pick<TestApp, 'fetch'>) =>
      expect(await findScopes(on, token)).toEqual(['comments:write', 'users:read']);
    await relyingOn(app, issuer, [jwk(pair, 'A')], work, settings);
  });
});
