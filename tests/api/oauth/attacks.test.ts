import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  askToken,
  authorizeClient,
  authorizeUrl,
  Browser,
  exchangeCode,
  oauthClient,
  PKCE,
  postForm,
  REDIRECT_URI,
  statusWith,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { type Person, person } from '../../support/credentials/session.ts';
import { age } from '../../support/database/aged.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

/** A clock that can be put forward: what is cached for less than a second is out of date then. */
let aheadMs = 0;
const app = useApp({ clock: clockOf(() => Date.now() + aheadMs) });
const aSecondLater = () => {
  aheadMs += 1_000;
};

let user: Person;
let client: TestClient;
let other: TestClient;
beforeAll(async () => {
  user = await person(app);
  client = await oauthClient(app, { owner: await app.account() });
  other = await oauthClient(app, { owner: await app.account() });
});

const authorize = () => authorizeClient(app, client, user);
const refresh = (token: string, by = client) =>
  askToken(app, by, { grant_type: 'refresh_token', refresh_token: token });

/** Where an authorization request ends: at the client with an error, or on an error page of ours. */
async function rejection(url: string): Promise<{ at: string; error: string | null; status: number }> {
  const { response, left } = await new Browser(app).open(url);
  if (left !== undefined) {
    const result = new URLSearchParams(left.hash.slice(1) || left.search);
    return { at: left.origin + left.pathname, error: result.get('error'), status: response.status };
  }
  const [, error = null] = /Technical details: (\w+)/.exec(await response.text()) ?? [];
  return { at: 'here', error, status: response.status };
}

describe('a code', () => {
  it('that is used twice gives nothing, and ends what it gave', async () => {
    const got = await authorize();
    const { body } = await exchangeCode(app, client, got);
    expect(await statusWith(app, body.access_token)).toBe(200);
    expect(await exchangeCode(app, client, got)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    aSecondLater();
    expect(await statusWith(app, body.access_token)).toBe(401);
    expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('that is used again after its minute ends what it gave all the same', async () => {
    const got = await authorize();
    const { body } = await exchangeCode(app, client, got);
    await age(app, 'oauth_records', 61_000);
    expect((await exchangeCode(app, client, got)).body.error).toBe('invalid_grant');
    aSecondLater();
    expect(await statusWith(app, body.access_token)).toBe(401);
    expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('that is used many times at once gives one set of tokens at most, and ends it', async () => {
    const got = await authorize();
    const responses = await Promise.all(Array.from({ length: 6 }, () => exchangeCode(app, client, got)));
    const good = responses.filter(({ status }) => status === 200);
    expect(good.length).toBeLessThanOrEqual(1);
    aSecondLater();
    for (const { body } of good) {
      expect(await statusWith(app, body.access_token)).toBe(401);
      expect((await refresh(body.refresh_token)).status).toBe(400);
    }
  });

  it('leaves what other codes gave alone', async () => {
    const [first, second] = [await authorize(), await authorize()];
    const { body } = await exchangeCode(app, client, first);
    await exchangeCode(app, client, second);
    await exchangeCode(app, client, second);
    aSecondLater();
    expect(await statusWith(app, body.access_token)).toBe(200);
  });

  it('is good for the client that it was given to, the address, and the verifier', async () => {
    const got = await authorize();
    const wrong = [
      await exchangeCode(app, other, got),
      await exchangeCode(app, client, { ...got, verifier: PKCE().verifier }),
      await exchangeCode(app, client, got, { code_verifier: '' }),
      await exchangeCode(app, client, got, { redirect_uri: `${REDIRECT_URI}/more` }),
    ];
    expect(wrong.map(({ status, body }) => [status, body.error])).toEqual(
      wrong.map(() => [400, 'invalid_grant']),
    );
    expect((await exchangeCode(app, client, got, { redirect_uri: '' })).body.error).toBe('invalid_request');
    // None of it used the code up: whoever guesses does not lock the client out.
    expect((await exchangeCode(app, client, got)).status).toBe(200);
  });
});

describe('a refresh token', () => {
  it('that is used twice ends its family, the newest tokens too', async () => {
    const { body: first } = await exchangeCode(app, client, await authorize());
    const { body: second } = await refresh(first.refresh_token);
    expect(await statusWith(app, second.access_token)).toBe(200);
    expect(await refresh(first.refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    aSecondLater();
    for (const token of [first.access_token, second.access_token])
      expect(await statusWith(app, token)).toBe(401);
    expect((await refresh(second.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('that is used many times at once ends its family', async () => {
    const { body } = await exchangeCode(app, client, await authorize());
    const responses = await Promise.all(Array.from({ length: 6 }, () => refresh(body.refresh_token)));
    const good = responses.filter(({ status }) => status === 200);
    expect(good.length).toBeLessThanOrEqual(1);
    aSecondLater();
    for (const result of good) expect((await refresh(result.body.refresh_token)).status).toBe(400);
    expect(await statusWith(app, body.access_token)).toBe(401);
  });

  it('is good for the client that it was given to', async () => {
    const { body } = await exchangeCode(app, client, await authorize());
    expect((await refresh(body.refresh_token, other)).body.error).toBe('invalid_grant');
    expect((await refresh(body.refresh_token)).status).toBe(200);
  });
});

describe('an address to come back to', () => {
  it.each([
    ['with a suffix', `${REDIRECT_URI}/more`],
    ['with a query', `${REDIRECT_URI}?next=1`],
    ['with a fragment', `${REDIRECT_URI}#x`],
    ['of another case', REDIRECT_URI.replace('callback', 'Callback')],
    ['of another scheme', REDIRECT_URI.replace('https', 'http')],
    ['of another host', 'https://evil.example/callback'],
    ['with the host as a user', 'https://client.example@evil.example/callback'],
    ['of a subdomain', 'https://a.client.example/callback'],
    ['of another port', 'https://client.example:8443/callback'],
    ['with a way up', 'https://client.example/x/../callback'],
    ['that is a script', 'javascript:alert(1)'],
    ['that is none', 'callback'],
    ['that is empty', ''],
  ])('%s is not gone to, with a code or with an error', async (_what, redirectUri) => {
    const { challenge } = PKCE();
    const responses = [
      await rejection(authorizeUrl(client, { challenge, redirectUri })),
      await rejection(authorizeUrl(client, { challenge, redirectUri, scope: 'nonsense' })),
      await rejection(authorizeUrl(client, { redirectUri })),
    ];
    expect(responses.map(({ at, status }) => [at, status])).toEqual(responses.map(() => ['here', 400]));
  });

  it('on the own device may have any port, and nothing else that differs', async () => {
    const native = await oauthClient(app, {
      owner: await app.account(),
      redirectUris: ['http://127.0.0.1/callback', 'com.example.app:/callback'],
      public: true,
    });
    const { challenge } = PKCE();
    const ask = (redirectUri: string) =>
      rejection(authorizeUrl(native, { challenge, redirectUri, extra: { prompt: 'none' } }));
    expect(await ask('http://127.0.0.1:51004/callback')).toMatchObject({ error: 'login_required' });
    for (const wrong of [
      'http://127.0.0.1:51004/other',
      'http://localhost:51004/callback',
      'https://127.0.0.1:51004/callback',
      'http://127.0.0.1.evil.example/callback',
      'http://127.0.0.1:51004@evil.example/callback',
    ])
      expect((await ask(wrong)).at, wrong).toBe('here');
  });
});

describe('PKCE', () => {
  const challenge = PKCE().challenge;
  it.each([
    ['missing', undefined, {}],
    ['plain', challenge, { code_challenge_method: 'plain' }],
    ['without its method', challenge, { code_challenge_method: undefined }],
    ['too short', 'short', {}],
    ['without a challenge', undefined, { code_challenge_method: 'S256' }],
  ])('that is %s is rejected for every client', async (_what, given, extra) => {
    const publicClient = await oauthClient(app, { owner: await app.account(), public: true });
    for (const asking of [client, publicClient])
      expect(
        await rejection(authorizeUrl(asking, { ...(given && { challenge: given }), extra })),
      ).toMatchObject({
        at: REDIRECT_URI,
        error: 'invalid_request',
      });
  });
});

describe('an authorization request', () => {
  const challenge = PKCE().challenge;

  it('for scopes beyond the client’s is rejected', async () => {
    const reader = await oauthClient(app, { owner: await app.account(), scopes: ['posts:read'] });
    for (const scope of ['posts:write', 'posts:read posts:write', 'users:email', 'openid', 'nonsense'])
      expect(await rejection(authorizeUrl(reader, { challenge, scope })), scope).toMatchObject({
        at: REDIRECT_URI,
        error: 'invalid_scope',
      });
  });

  it('gets no scope that the account cannot hold', async () => {
    const both = await oauthClient(app, {
      owner: await app.account(),
      scopes: ['users:read', 'users:email'],
    });
    const { body } = await exchangeCode(app, both, await authorizeClient(app, both, user));
    expect(body.scope).toBe('users:read');
    const admin = await person(app, { role: 'admin' });
    const { body: more } = await exchangeCode(app, both, await authorizeClient(app, both, admin));
    expect(more.scope).toBe('users:read users:email');
  });

  it('names its client, its response type and the issuer it got a response from', async () => {
    expect((await rejection(authorizeUrl({ id: other.id.replace(/./, 'f') }, { challenge }))).at).toBe(
      'here',
    );
    expect(
      await rejection(authorizeUrl(client, { challenge, extra: { response_type: 'token' } })),
    ).toMatchObject({ at: REDIRECT_URI, error: 'unsupported_response_type' });
    const { left } = await new Browser(app).open(authorizeUrl(client, { extra: { prompt: 'none' } }));
    expect(left?.searchParams.get('iss')).toBe('http://127.0.0.1:4000');
    expect(left?.searchParams.get('state')).toBe('the-state');
  });
});

describe('a client', () => {
  it('with a wrong secret, none, or somebody else’s is not let in', async () => {
    const wrong = [
      { ...client, secret: other.secret },
      { ...client, secret: `${client.secret}x` },
      { ...client, secret: '' },
      { ...client, id: other.id.replace(/./, 'f') },
      { ...client, id: 'nobody' },
    ];
    for (const who of wrong) {
      const { status, body, headers } = await askToken(app, who, { grant_type: 'client_credentials' });
      expect([status, body.error]).toEqual([401, 'invalid_client']);
      expect(headers.get('www-authenticate')).toContain('Basic');
      const form = { grant_type: 'client_credentials', client_id: who.id, client_secret: who.secret };
      const inForm = await postForm(app, '/oauth/token', form);
      expect([inForm.status, inForm.body.error]).toEqual([401, 'invalid_client']);
      expect(inForm.headers.get('www-authenticate')).toContain('Basic');
    }
  });

  it('without a secret that comes with one is not let in', async () => {
    const publicClient = await oauthClient(app, { owner: await app.account(), public: true });
    const { status } = await askToken(
      app,
      { ...publicClient, secret: 'made up' },
      { grant_type: 'refresh_token' },
    );
    expect(status).toBe(401);
  });

  it('gets no grant that it was not made for', async () => {
    expect(await askToken(app, client, { grant_type: 'client_credentials' })).toMatchObject({
      status: 400,
      body: { error: 'unauthorized_client' },
    });
    for (const grant_type of ['password', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code'])
      expect((await askToken(app, client, { grant_type })).body.error).toBe('unsupported_grant_type');
  });
});
