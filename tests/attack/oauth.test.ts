import { describe, expect, it } from 'vitest';
import {
  askToken,
  authorizeClient,
  authorizeUrl,
  Browser,
  exchangeCode,
  PKCE,
  postForm,
  REDIRECT_URI,
  type TestClient,
} from '../support/credentials/oauth.ts';
import { deployment, graphql, service } from './support/attacker.ts';
import { PASSWORD } from './support/deployment.ts';

const { ada, client, grace, machine, origin, otherClient } = deployment;
const { challenge } = PKCE();
const GRACE = { email: grace.email, password: PASSWORD };

const authorize = () =>
  authorizeClient(service, client, GRACE, { browser: new Browser(service, {}, origin) });
const refresh = (token: string, by: TestClient = client, more: Record<string, string> = {}) =>
  askToken(service, by, { grant_type: 'refresh_token', refresh_token: token, ...more });

/** Where an authorization request leads: back to the client with an error, or nowhere. */
async function ledTo(url: string): Promise<{ to: string | undefined; error: string | null }> {
  const { left } = await new Browser(service, {}, origin).open(url);
  return {
    to: left && left.origin + left.pathname,
    error: new URLSearchParams(left?.hash.slice(1) || left?.search).get('error'),
  };
}

describe('a redirect URI that is not the client’s is not gone to (RFC 9700 section 2.1)', () => {
  it.each([
    `${REDIRECT_URI}/more`,
    `${REDIRECT_URI}?next=1`,
    `${REDIRECT_URI}#x`,
    'https://evil.example/callback',
    'https://client.example@evil.example/callback',
    'https://client.example.evil.example/callback',
    'https://client.example/x/../callback',
    'https://client.example%2eevil.example/callback',
    'javascript:alert(1)',
    '//evil.example',
    '',
  ])('%s', async (redirectUri) => {
    expect(await ledTo(authorizeUrl(client, { challenge, redirectUri }))).toEqual({
      to: undefined,
      error: null,
    });
  });
});

describe('an authorization request is refused', () => {
  it.each([
    ['without PKCE', 'RFC 9700 section 2.1.1', { code_challenge: undefined }, 'invalid_request'],
    [
      'with PKCE that hides nothing',
      'RFC 9700 section 2.1.1',
      { code_challenge_method: 'plain' },
      'invalid_request',
    ],
    [
      'for a token in the address',
      'RFC 9700 section 2.1.2',
      { response_type: 'token' },
      'unsupported_response_type',
    ],
    ['for more than the client may', 'RFC 6749 section 3.3', { scope: 'users:email' }, 'invalid_scope'],
    [
      'for another resource',
      'RFC 8707 section 2',
      { resource: 'https://elsewhere.example' },
      'invalid_target',
    ],
    ['without anybody being asked', 'contract section 3', { prompt: 'none' }, 'login_required'],
    ['with kilobytes of state', 'contract section 5', { state: 'x'.repeat(2_500) }, 'invalid_request'],
  ])('%s (%s)', async (_attack, _rule, extra, error) => {
    expect(await ledTo(authorizeUrl(client, { challenge, extra }))).toEqual({ to: REDIRECT_URI, error });
  });
});

describe('a code', () => {
  it('is for its client, its verifier and its address, and for one use (RFC 6749 section 4.1.3, RFC 7636)', async () => {
    const got = await authorize();
    for (const answer of [
      await exchangeCode(service, otherClient, got),
      await exchangeCode(service, client, { ...got, verifier: PKCE().verifier }),
      await exchangeCode(service, client, got, { redirect_uri: 'https://evil.example/callback' }),
    ])
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant']);
    const wrong = await exchangeCode(service, client, got, { resource: 'https://elsewhere.example' });
    expect(wrong.body.error).toBe('invalid_target');
    const { body } = await exchangeCode(service, client, got);
    const as = () => graphql('{ viewer { id } }', { authorization: `Bearer ${body.access_token}` });
    expect((await as()).data.viewer.id).toBe(grace.id);
    // Used again, it ends what it gave (section 4.1.2).
    expect((await exchangeCode(service, client, got)).body.error).toBe('invalid_grant');
    await expect.poll(async () => (await as()).status).toBe(401);
    expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant');
  });
});

describe('a refresh token', () => {
  it('is for its client, and for one use: the second ends its family (RFC 9700 section 4.14.2)', async () => {
    const { body: first } = await exchangeCode(service, client, await authorize());
    expect((await refresh(first.refresh_token, otherClient)).body.error).toBe('invalid_grant');
    const wrong = await refresh(first.refresh_token, client, { resource: 'https://elsewhere.example' });
    expect(wrong.body.error).toBe('invalid_target');
    const { body: second } = await refresh(first.refresh_token);
    expect((await refresh(first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refresh(second.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('opens nothing by itself (RFC 6749 section 1.5)', async () => {
    const { body } = await exchangeCode(service, client, await authorize());
    expect(
      (await graphql('{ viewer { id } }', { authorization: `Bearer ${body.refresh_token}` })).status,
    ).toBe(401);
  });
});

describe('a client', () => {
  it('without its secret gets, asks about and ends nothing (RFC 6749 section 2.3)', async () => {
    const wrong = { ...machine, secret: otherClient.secret };
    for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/introspect'])
      for (const form of [{ client_id: machine.id }, { client_id: wrong.id, client_secret: wrong.secret }]) {
        const answer = await postForm(service, path, {
          grant_type: 'client_credentials',
          token: 'x',
          ...form,
        });
        expect([path, answer.status, answer.body.error]).toEqual([path, 401, 'invalid_client']);
      }
  });

  it('learns of and ends its own tokens alone (RFC 7009 section 2.1, RFC 7662 section 4)', async () => {
    const { body } = await askToken(service, machine, { grant_type: 'client_credentials' });
    const own = { token: body.access_token };
    const form = { ...own, client_id: otherClient.id, client_secret: otherClient.secret };
    expect((await postForm(service, '/oauth/introspect', form)).body).toEqual({ active: false });
    expect((await postForm(service, '/oauth/revoke', form)).status).toBe(200);
    const as = await graphql('{ viewer { id } }', { authorization: `Bearer ${body.access_token}` });
    expect(as.data.viewer.id).toBe(ada.id);
  });
});

describe('a sign-in', () => {
  it('in an authorization of somebody else’s shows and gives that browser nothing (RFC 6265bis section 8.8)', async () => {
    const mallory = new Browser(service, {}, origin);
    const begun = await mallory.fetch(authorizeUrl(client, { challenge, extra: { prompt: 'consent' } }));
    const page = begun.headers.get('location') ?? '';
    for (const cookie of begun.headers.getSetCookie())
      expect(cookie).toMatch(/^__Host-.*; Path=\/;.* Secure/);
    const victim = new Browser(service, {}, origin);
    victim.plantedBy(mallory);
    const { response } = await victim.open(page);
    const { response: asked } = await victim.submit(await response.text(), GRACE, '/login');
    expect(await asked.text()).toContain('Signed in as');
    const { response: seen, left } = await mallory.open(page);
    expect(left).toBeUndefined();
    expect(await seen.text()).not.toContain('Grace');
    // Nor is there any way in for who has begun nothing.
    expect((await new Browser(service, {}, origin).fetch(page)).status).toBe(400);
  });
});
