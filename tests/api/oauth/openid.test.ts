import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, it } from 'vitest';
import { createOAuthClient } from '../../../src/features/oauth/clients.ts';
import { ORIGIN, useApp } from '../../support/app.ts';
import {
  authorizeClient,
  authorizeUrl,
  Browser,
  exchangeCode,
  oauthClient,
  PKCE,
  REDIRECT_URI,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { callingApp } from '../../support/credentials/oauth-application.ts';
import { freshCookie, type Person, person } from '../../support/credentials/session.ts';

const app = useApp();
const OPTIONS = callingApp(app);
const ALL = 'openid profile email users:read';
const AVATAR = 'https://images.example/ada.png';

let server: oauth.AuthorizationServer;
let user: Person;
let client: TestClient;
beforeAll(async () => {
  const issuer = new URL(ORIGIN);
  server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, OPTIONS));
  user = await person(app, { name: 'Ada' });
  await app.prisma.user.update({
    where: { id: user.id },
    data: { handle: 'ada', avatarUrl: AVATAR },
    select: { id: true },
  });
  client = await oauthClient(app, {
    owner: await app.account(),
    scopes: ['openid', 'profile', 'email', 'users:read'],
  });
});

const { verifier, challenge } = PKCE();
const urlFor = (scope: string, extra: Record<string, string> = {}) =>
  authorizeUrl(client, { challenge, scope, extra });

/** A browser with a session of the user, which began `secondsAgo`. */
async function signedIn(secondsAgo = 0): Promise<Browser> {
  const browser = new Browser(app, { session_id: (await freshCookie(app, user.email)).slice(11) });
  if (secondsAgo > 0)
    await app.prisma.session.updateMany({
      where: { userId: user.id },
      data: { createdAt: new Date(Date.now() - secondsAgo * 1_000) },
    });
  return browser;
}

const tokensFor = async (scope: string) =>
  (await exchangeCode(app, client, await authorizeClient(app, client, user, { scope }))).body;

const askUserinfo = (token: string) =>
  app.fetch('/oauth/userinfo', { headers: { authorization: `Bearer ${token}` } });

describe('discovery', () => {
  it('names the endpoints of OpenID Connect, at both paths', async () => {
    expect(server).toMatchObject({
      issuer: ORIGIN,
      userinfo_endpoint: `${ORIGIN}/oauth/userinfo`,
      end_session_endpoint: `${ORIGIN}/oauth/logout`,
      jwks_uri: `${ORIGIN}/oauth/jwks`,
      id_token_signing_alg_values_supported: ['ES256'],
      subject_types_supported: ['public'],
      scopes_supported: expect.arrayContaining(['openid', 'profile', 'email', 'posts:read']),
      claims_supported: expect.arrayContaining(['sub', 'name', 'email', 'email_verified']),
    });
    const response = await app.fetch('/.well-known/oauth-authorization-server');
    expect(await response.json()).toEqual(server);
  });
});

describe('a sign-in with openid', () => {
  it('gives an ID token that oauth4webapi accepts, with the claims of the scopes', async () => {
    const own = { client_id: client.id };
    const authentication = oauth.ClientSecretBasic(client.secret);
    const { code, verifier: proof } = await authorizeClient(app, client, user, {
      scope: ALL,
      extra: { nonce: 'the-nonce', max_age: '600' },
    });
    const callback = new URLSearchParams({ code, state: 'the-state', iss: ORIGIN });
    const checked = oauth.validateAuthResponse(server, own, callback, 'the-state');
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      own,
      authentication,
      checked,
      REDIRECT_URI,
      proof,
      OPTIONS,
    );
    const expected = { expectedNonce: 'the-nonce', maxAge: 600, requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(server, own, response, expected);
    await oauth.validateApplicationLevelSignature(server, response, OPTIONS);
    const claims = oauth.getValidatedIdTokenClaims(tokens);
    expect(claims).toEqual({
      iss: ORIGIN,
      aud: client.id,
      sub: user.id,
      nonce: 'the-nonce',
      auth_time: expect.any(Number),
      iat: expect.any(Number),
      exp: expect.any(Number),
      name: 'Ada',
      preferred_username: 'ada',
      picture: AVATAR,
      email: user.email,
      email_verified: false,
    });
    // A second can begin between the computation of `iat` and of `exp`.
    expect(claims?.exp).toBeLessThanOrEqual(Date.now() / 1_000 + 900);
    const info = await oauth.userInfoRequest(server, own, tokens.access_token, OPTIONS);
    expect(await oauth.processUserInfoResponse(server, own, user.id, info)).toEqual({
      sub: user.id,
      name: 'Ada',
      preferred_username: 'ada',
      picture: AVATAR,
      email: user.email,
      email_verified: false,
    });
    const refresh = tokens.refresh_token ?? '';
    const renewed = await oauth.processRefreshTokenResponse(
      server,
      own,
      await oauth.refreshTokenGrantRequest(server, own, authentication, refresh, OPTIONS),
    );
    expect(oauth.getValidatedIdTokenClaims(renewed)).toMatchObject({
      sub: user.id,
      auth_time: claims?.auth_time,
    });
    const { data } = await app.gql('{ viewer { name } }', { key: renewed.access_token });
    expect(data).toEqual({ viewer: { name: 'Ada' } });
  });

  it('shows on the consent page what each scope shows', async () => {
    const { response } = await (await signedIn()).open(urlFor(ALL, { prompt: 'consent' }));
    const page = await response.text();
    expect(page).toContain('Recognise you by the id of your account');
    expect(page).toContain('See your name, handle and avatar');
    expect(page).toContain('See your email address, and if it is verified');
  });

  it('gives only what was requested', async () => {
    const tokens = await tokensFor('openid');
    expect(tokens.scope).toBe('openid');
    expect(Object.keys(decodeJwt(tokens.id_token)).sort()).toEqual([
      'aud',
      'auth_time',
      'exp',
      'iat',
      'iss',
      'sub',
    ]);
    expect(await (await askUserinfo(tokens.access_token)).json()).toEqual({ sub: user.id });
    expect((await app.gql('{ viewer { name } }', { key: tokens.access_token })).status).toBe(403);
  });

  it('says that an email address is verified once it is', async () => {
    const data = { emailVerifiedAt: new Date() };
    const { id } = user;
    await app.prisma.user.update({ where: { id }, data, select: { id: true } });
    const tokens = await tokensFor('openid email');
    await app.prisma.user.update({ where: { id }, data: { emailVerifiedAt: null }, select: { id: true } });
    expect(decodeJwt(tokens.id_token)).toMatchObject({ email: user.email, email_verified: true });
  });
});

describe('a sign-in without openid', () => {
  it('gives no ID token, and profile and email give nothing', async () => {
    for (const scope of ['users:read', 'profile email users:read']) {
      const tokens = await tokensFor(scope);
      expect(tokens).not.toHaveProperty('id_token');
      expect(tokens.scope).toBe('users:read');
      const info = await askUserinfo(tokens.access_token);
      expect(info.status).toBe(403);
      expect(info.headers.get('www-authenticate')).toContain('error="insufficient_scope", scope="openid"');
    }
  });

  it('is what a request without a scope gets', async () => {
    const { body } = await exchangeCode(app, client, await authorizeClient(app, client, user));
    expect(body.scope).toBe('users:read');
    expect(body).not.toHaveProperty('id_token');
  });

  it('is all that a client gets which has not registered openid', async () => {
    const plain = await oauthClient(app, { owner: await app.account() });
    const url = authorizeUrl(plain, { challenge, scope: 'openid posts:read' });
    const { left } = await new Browser(app).open(url);
    expect(left?.searchParams.get('error')).toBe('invalid_scope');
  });
});

describe('userinfo', () => {
  it('takes access tokens with openid only', async () => {
    const missing = await app.fetch('/oauth/userinfo');
    expect(missing.status).toBe(401);
    expect(missing.headers.get('www-authenticate')).toContain('Bearer');
    expect((await askUserinfo(user.key)).status).toBe(401);
    const { id_token: idToken, access_token: token } = await tokensFor('openid');
    expect((await askUserinfo(idToken)).status).toBe(401);
    const response = await app.fetch('/oauth/userinfo', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
  });

  it('rejects the tokens of a revoked grant', async () => {
    const { access_token: token } = await tokensFor('openid');
    await app.prisma.oAuthGrant.deleteMany({ where: { userId: user.id } });
    await expect.poll(async () => (await askUserinfo(token)).status).toBe(401);
  });
});

describe('max_age', () => {
  it('asks for the password again if the sign-in is older', async () => {
    await authorizeClient(app, client, user, { scope: 'openid' });
    const browser = await signedIn(120);
    const young = await browser.open(urlFor('openid', { max_age: '600' }));
    expect(young.left?.searchParams.has('code')).toBe(true);
    const { response } = await browser.open(urlFor('openid', { max_age: '60' }));
    const page = await response.text();
    expect(page).toContain('name="password"');
    const { left } = await browser.submit(page, { email: user.email, password: user.password });
    const code = left?.searchParams.get('code') ?? '';
    const { body } = await exchangeCode(app, client, { code, verifier });
    expect(Math.abs(Number(decodeJwt(body.id_token).auth_time) - Date.now() / 1_000)).toBeLessThan(60);
  });

  it('of 0 always asks', async () => {
    const { response } = await (await signedIn()).open(urlFor('openid', { max_age: '0' }));
    expect(await response.text()).toContain('name="password"');
  });

  it('must be a number', async () => {
    const { left } = await new Browser(app).open(urlFor('openid', { max_age: 'soon' }));
    expect(left?.searchParams.get('error')).toBe('invalid_request');
  });
});

describe('prompt', () => {
  const errorOf = async (browser: Browser, url: string) =>
    (await browser.open(url)).left?.searchParams.get('error');

  it('none gives a code without a question, or says what is missing', async () => {
    await authorizeClient(app, client, user, { scope: 'openid' });
    const url = urlFor('openid', { prompt: 'none' });
    const browser = await signedIn(120);
    expect((await browser.open(url)).left?.searchParams.has('code')).toBe(true);
    expect(await errorOf(new Browser(app), url)).toBe('login_required');
    expect(await errorOf(browser, urlFor('openid', { prompt: 'none', max_age: '60' }))).toBe(
      'login_required',
    );
    const fresh = await oauthClient(app, { owner: await app.account(), scopes: ['openid'] });
    const asks = authorizeUrl(fresh, { challenge, scope: 'openid', extra: { prompt: 'none' } });
    expect(await errorOf(browser, asks)).toBe('consent_required');
    expect(await errorOf(browser, urlFor('openid', { prompt: 'none login' }))).toBe('invalid_request');
    expect(await errorOf(browser, urlFor('users:read', { prompt: 'none' }))).toBe('login_required');
  });

  it('select_account offers another account', async () => {
    await authorizeClient(app, client, user, { scope: 'openid' });
    const { response } = await (await signedIn()).open(urlFor('openid', { prompt: 'select_account' }));
    expect(await response.text()).toContain('Use another account');
  });
});

describe('a client that acts alone', () => {
  it('cannot have scopes of OpenID Connect', async () => {
    const owner = { ...(await app.account()), role: 'member' as const };
    const options = { owner, name: 'Job', redirectUris: [], public: false };
    await expect(
      createOAuthClient(app.database, { ...options, grants: ['client_credentials'], scopes: ['openid'] }),
    ).rejects.toThrow('require the authorization_code grant');
  });
});
