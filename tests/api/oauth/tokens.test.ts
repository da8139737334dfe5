import { createHash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { scopesOfRole } from '../../../src/auth/scopes.ts';
import { ORIGIN, useApp } from '../../support/app.ts';
import {
  askToken,
  authorizeClient,
  basic,
  exchangeCode,
  oauthClient,
  postForm,
  statusWith,
} from '../../support/credentials/oauth.ts';
import { person } from '../../support/credentials/session.ts';
import { newEcPair } from '../../support/credentials/tokens.ts';
import { secondInstance } from '../../support/second-instance.ts';

const app = useApp();
const MEMBER_SCOPES = scopesOfRole('member').join(' ');

/** A user, a client of somebody else's, and what the client got for the user. */
async function granted(options: Partial<Parameters<typeof oauthClient>[1]> = {}) {
  const user = await person(app);
  const client = await oauthClient(app, { owner: await app.account(), ...options });
  const { body } = await exchangeCode(app, client, await authorizeClient(app, client, user));
  return { user, client, access: String(body.access_token), refresh: String(body.refresh_token), body };
}

describe('the client credentials grant', () => {
  const grants = ['client_credentials'] as const;

  it('gives a token with which the client acts for its owner', async () => {
    const owner = await app.account();
    const client = await oauthClient(app, { owner, grants });
    const { status, body, headers } = await askToken(app, client, { grant_type: 'client_credentials' });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 900,
        scope: MEMBER_SCOPES,
      },
    });
    expect(headers.get('cache-control')).toBe('no-store');
    const { data } = await app.gql('{ viewer { id } }', { key: body.access_token });
    expect(data).toEqual({ viewer: { id: owner.id } });
  });

  it('gives what was asked for, of what the client may and its owner holds', async () => {
    const owner = await app.account();
    const client = await oauthClient(app, { owner, grants, scopes: ['posts:read', 'users:read'] });
    const ask = (scope: string) => askToken(app, client, { grant_type: 'client_credentials', scope });
    expect((await ask('users:read')).body.scope).toBe('users:read');
    for (const scope of ['posts:write', 'posts:read posts:write', 'users:email', 'nonsense', 'openid'])
      expect(await ask(scope), scope).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
    const token = (await ask('users:read')).body.access_token;
    expect((await app.gql('{ posts { id } }', { key: token })).status).toBe(403);
  });

  it('takes a secret of an earlier release; new ones have a prefix of their own', async () => {
    const client = await oauthClient(app, { owner: await app.account(), grants });
    expect(client.secret).toMatch(/^cgc_\w{36}$/);
    const early = { ...client, secret: `cgs_${'x'.repeat(43)}` };
    const ask = () => askToken(app, early, { grant_type: 'client_credentials' });
    expect((await ask()).body.error).toBe('invalid_client');
    const secretHash = createHash('sha256').update(early.secret).digest();
    await app.prisma.oAuthClient.update({ where: { id: client.id }, data: { secretHash } });
    expect((await ask()).status).toBe(200);
  });

  it('takes the secret in the header and in the form', async () => {
    const client = await oauthClient(app, { owner: await app.account(), grants });
    const form = { grant_type: 'client_credentials', client_id: client.id, client_secret: client.secret };
    expect((await postForm(app, '/oauth/token', form)).status).toBe(200);
    expect((await postForm(app, '/oauth/token', { grant_type: form.grant_type }, basic(client))).status).toBe(
      200,
    );
  });
});

describe('an access token', () => {
  it('is a JWT of RFC 9068', async () => {
    const { user, client, access } = await granted();
    const { keys } = (await (await app.fetch('/oauth/jwks')).json()) as { keys: { kid: string }[] };
    expect(decodeProtectedHeader(access)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: keys[0]?.kid });
    const { iat = 0, ...claims } = decodeJwt(access);
    expect(claims).toEqual({
      iss: ORIGIN,
      aud: `${ORIGIN}/graphql`,
      sub: user.id,
      client_id: client.id,
      scope: MEMBER_SCOPES,
      exp: iat + 900,
      jti: expect.any(String),
      family: expect.any(String),
    });
  });

  it('acts for the user who allowed it', async () => {
    const { user, access } = await granted();
    const { data } = await app.gql('{ viewer { id email } }', { key: access });
    expect(data).toEqual({ viewer: { id: user.id, email: user.email } });
  });

  it('is rejected once it has been changed, or as another type', async () => {
    const { access } = await granted();
    const [header = '', payload = '', signature = ''] = access.split('.');
    const other = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const raised = other({ ...decodeJwt(access), scope: 'users:email' });
    for (const forged of [
      `${header}.${raised}.${signature}`,
      `${other({ ...decodeProtectedHeader(access), alg: 'none' })}.${payload}.`,
      `${other({ ...decodeProtectedHeader(access), typ: 'JWT' })}.${payload}.${signature}`,
      await new SignJWT(decodeJwt(access))
        .setProtectedHeader({ ...decodeProtectedHeader(access), alg: 'ES256' })
        .sign(newEcPair().privateKey),
    ])
      expect(await statusWith(app, forged)).toBe(401);
  });
});

describe('a refresh token', () => {
  it('comes with every code of a client that has the grant, and gives new tokens', async () => {
    const { user, client, refresh } = await granted({ scopes: ['users:read'] });
    const { status, body } = await askToken(app, client, {
      grant_type: 'refresh_token',
      refresh_token: refresh,
    });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        access_token: expect.any(String),
        refresh_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 900,
        scope: 'users:read',
      },
    });
    expect(body.refresh_token).not.toBe(refresh);
    const { data } = await app.gql('{ viewer { id } }', { key: body.access_token });
    expect(data).toEqual({ viewer: { id: user.id } });
  });

  it('comes not with a client that lacks the grant', async () => {
    const { body } = await granted({ grants: ['authorization_code'] });
    expect(Object.keys(body)).not.toContain('refresh_token');
  });

  it('can ask for less, and never for more', async () => {
    const { client, refresh } = await granted({ scopes: ['users:read', 'posts:read'] });
    const ask = (scope: string, token: string) =>
      askToken(app, client, { grant_type: 'refresh_token', refresh_token: token, scope });
    expect((await ask('users:read posts:write', refresh)).body.error).toBe('invalid_scope');
    expect((await ask('users:read', refresh)).body.scope).toBe('users:read');
  });
});

describe('the key set and the metadata', () => {
  it('are public, and name nothing private', async () => {
    const jwks = await app.fetch('/oauth/jwks');
    expect(jwks.headers.get('content-type')).toContain('application/jwk-set+json');
    const { keys } = (await jwks.json()) as { keys: object[] };
    expect(keys).toEqual([
      {
        kty: 'EC',
        crv: 'P-256',
        x: expect.any(String),
        y: expect.any(String),
        kid: expect.any(String),
        alg: 'ES256',
        use: 'sig',
      },
    ]);
    const metadata = await (await app.fetch('/.well-known/oauth-authorization-server')).json();
    expect(metadata).toMatchObject({
      issuer: ORIGIN,
      authorization_endpoint: `${ORIGIN}/oauth/authorize`,
      token_endpoint: `${ORIGIN}/oauth/token`,
      revocation_endpoint: `${ORIGIN}/oauth/revoke`,
      introspection_endpoint: `${ORIGIN}/oauth/introspect`,
      jwks_uri: `${ORIGIN}/oauth/jwks`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    });
  });

  it('name the issuer, whatever the Host says', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    const response = await app.fetch('/.well-known/oauth-authorization-server', { headers });
    expect(await response.text()).not.toContain('evil');
  });
});

describe('a token of another issuer or for another audience', () => {
  const production = { PUBLIC_URL: 'https://api.example.com' };

  it('is rejected where PUBLIC_URL says who issues', async () => {
    const elsewhere = secondInstance(app, { config: { ...app.config, publicUrl: production.PUBLIC_URL } });
    const owner = await app.account();
    const client = await oauthClient(app, { owner, grants: ['client_credentials'] });
    const grant = { grant_type: 'client_credentials' };
    const { body: here } = await askToken(app, client, grant);
    const { body: there } = await askToken(elsewhere, client, grant);
    expect(decodeJwt(there.access_token)).toMatchObject({
      iss: production.PUBLIC_URL,
      aud: `${production.PUBLIC_URL}/graphql`,
    });
    expect(await statusWith(elsewhere, there.access_token)).toBe(200);
    expect(await statusWith(elsewhere, here.access_token)).toBe(401);
  });
});
