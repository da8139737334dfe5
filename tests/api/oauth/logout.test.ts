import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  authorizeClient,
  Browser,
  exchangeCode,
  oauthClient,
  statusWith,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { freshCookie, type Person, person } from '../../support/credentials/session.ts';

const app = useApp();
const BACK = 'https://client.example/signed-out';

let user: Person;
let client: TestClient;
beforeAll(async () => {
  user = await person(app);
  client = await oauthClient(app, {
    owner: await app.account(),
    scopes: ['openid', 'users:read'],
    postLogoutRedirectUris: [BACK],
  });
});

const signedIn = async () => new Browser(app, { session_id: (await freshCookie(app, user.email)).slice(11) });
const logoutUrl = (fields: Record<string, string> = {}) =>
  `/oauth/logout?${new URLSearchParams({ client_id: client.id, post_logout_redirect_uri: BACK, ...fields })}`;
const isSignedIn = async (browser: Browser) => (await (await browser.fetch('/login')).json()).user !== null;

describe('RP-initiated logout', () => {
  it('asks, ends the session, and leads back with the state', async () => {
    const { code, verifier, browser } = await authorizeClient(app, client, user, {
      scope: 'openid users:read',
    });
    const { body } = await exchangeCode(app, client, { code, verifier });
    const url = `/oauth/logout?${new URLSearchParams({
      id_token_hint: body.id_token,
      post_logout_redirect_uri: BACK,
      state: 'a b',
    })}`;
    const { response } = await browser.open(url);
    expect(await isSignedIn(browser)).toBe(true);
    const page = await response.text();
    expect(page).toContain('<strong>Reader</strong> asks to sign you out');
    expect(response.headers.get('content-security-policy')).toContain("form-action 'self' https:");
    const { left } = await browser.submit(page, {}, '/confirm');
    expect(left?.href).toBe(`${BACK}?state=a+b`);
    expect(await isSignedIn(browser)).toBe(false);
    expect(await statusWith(app, body.access_token)).toBe(200);
  });

  it('leads back at once without a session, and from a post', async () => {
    expect((await new Browser(app).open(logoutUrl())).left?.href).toBe(BACK);
    const [path = '', form = ''] = logoutUrl({ state: 'x' }).split('?');
    const posted = await new Browser(app).open(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://client.example' },
      body: form,
    });
    expect(posted.left?.href).toBe(`${BACK}?state=x`);
  });

  it('asks after a post from an application on the same site, which comes with the session', async () => {
    const browser = await signedIn();
    const [path = '', form = ''] = logoutUrl().split('?');
    const { response } = await browser.open(path, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'https://client.example',
        'sec-fetch-site': 'same-site',
      },
      body: form,
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('<title>Sign out? – ');
    expect(await isSignedIn(browser)).toBe(true);
  });

  it('finds the session of a browser that comes from another site', async () => {
    const browser = new Browser(app);
    const led = { headers: { 'sec-fetch-site': 'cross-site' } };
    const pause = await (await browser.fetch(logoutUrl(), led)).text();
    const next = /content="0; url=([^"]+)"/.exec(pause)?.[1]?.replaceAll('&amp;', '&') ?? '';
    browser.adopt('session_id', (await signedIn()).cookie('session_id') ?? '');
    expect(await (await browser.fetch(next)).text()).toContain('<title>Sign out? – ');
  });

  it('works without an application', async () => {
    const browser = await signedIn();
    const { response } = await browser.open('/oauth/logout');
    const { response: done } = await browser.submit(await response.text(), {}, '/confirm');
    expect(await done.text()).toContain('You are signed out');
    expect(await isSignedIn(browser)).toBe(false);
  });
});

describe('the logout page', () => {
  it.each([
    ['a URI that is not registered', { post_logout_redirect_uri: 'https://evil.example/' }],
    ['an unknown client', { client_id: '01890000-0000-7000-8000-000000000000' }],
    ['a hint that is no token', { id_token_hint: 'nonsense' }],
    ['a hint for another client', { id_token_hint: 'eyJhbGciOiJub25lIn0.eyJhdWQiOiJvdGhlciJ9.' }],
  ])('leads nowhere with %s', async (_what, fields) => {
    const browser = await signedIn();
    const { response, left } = await browser.open(logoutUrl(fields));
    expect([response.status, left]).toEqual([400, undefined]);
    const posted = await browser.fetch('/oauth/logout/confirm', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: logoutUrl(fields).split('?')[1] ?? '',
    });
    expect(posted.status).toBe(400);
    expect(await isSignedIn(browser)).toBe(true);
  });

  it('cannot be confirmed by another site, nor be framed', async () => {
    const browser = await signedIn();
    const posted = await browser.fetch('/oauth/logout/confirm', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://evil.example' },
      body: '',
    });
    expect(posted.status).toBe(403);
    const framed = await browser.fetch(logoutUrl(), { headers: { 'sec-fetch-dest': 'iframe' } });
    expect(framed.status).toBe(400);
    expect(await isSignedIn(browser)).toBe(true);
  });
});
