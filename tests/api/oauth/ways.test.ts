import { beforeAll, describe, expect, it } from 'vitest';
import { ORIGIN, useApp } from '../../support/app.ts';
import {
  authorizeClient,
  authorizeUrl,
  Browser,
  oauthClient,
  PKCE,
  REDIRECT_URI,
} from '../../support/credentials/oauth.ts';
import { freshCookie, PASSWORD, type Person, person } from '../../support/credentials/session.ts';

const app = useApp();
const { challenge } = PKCE();

let user: Person;
beforeAll(async () => {
  user = await person(app, { name: 'Ada & <Co>' });
});

const credentials = () => ({ email: user.email, password: user.password });
const signedIn = async () => new Browser(app, { session_id: (await freshCookie(app, user.email)).slice(11) });

/** The titles of the pages that somebody sees, one after the other, until the browser leaves. */
async function titles(browser: Browser, url: string): Promise<string[]> {
  const seen: string[] = [];
  let step = await browser.open(url);
  while (step.left === undefined && seen.length < 5) {
    const page = await step.response.text();
    seen.push(/<title>(.*?) – Content Graph API<\/title>/.exec(page)?.[1] ?? '');
    step = await browser.submit(page, page.includes('name="password"') ? credentials() : {});
  }
  return seen;
}

describe('the way through the pages', () => {
  it('is login and consent for somebody new', async () => {
    const fresh = await oauthClient(app, { owner: user });
    expect(await titles(new Browser(app), authorizeUrl(fresh, { challenge }))).toEqual([
      'Sign in',
      'Allow Reader?',
    ]);
  });

  it('skips the login for who is signed in, and the consent for what was allowed', async () => {
    const fresh = await oauthClient(app, { owner: user });
    const browser = await signedIn();
    const asks = (scope: string, extra = {}) =>
      titles(browser, authorizeUrl(fresh, { challenge, scope, extra }));
    expect(await asks('posts:read users:read')).toEqual(['Allow Reader?']);
    expect(await asks('posts:read users:read')).toEqual([]);
    expect(await asks('users:read')).toEqual([]);
    expect(await asks('users:read posts:write')).toEqual(['Allow Reader?']);
    expect(await asks('posts:read posts:write')).toEqual([]);
    expect(await asks('users:read', { prompt: 'consent' })).toEqual(['Allow Reader?']);
    expect(await asks('users:read', { prompt: 'login' })).toEqual(['Sign in']);
    expect(await asks('users:read', { prompt: 'login consent' })).toEqual(['Sign in', 'Allow Reader?']);
  });

  it('asks each time for an app that anybody could pass for', async () => {
    const native = await oauthClient(app, {
      owner: user,
      public: true,
      redirectUris: ['com.example.app:/back'],
    });
    const browser = await signedIn();
    const url = authorizeUrl(native, { challenge, redirectUri: 'com.example.app:/back' });
    for (let i = 0; i < 2; i += 1) {
      const { response } = await browser.open(url);
      expect(response.headers.get('content-security-policy')).toContain(
        "form-action 'self' https: com.example.app:;",
      );
      const { left } = await browser.submit(await response.text());
      expect(left?.protocol).toBe('com.example.app:');
    }
  });

  it('reaches the session’s cookie through a page of our own, where another site has led there', async () => {
    const fresh = await oauthClient(app, { owner: user });
    const session = (await signedIn()).cookie('session_id') ?? '';
    // A browser leaves a SameSite=Strict cookie out of what another site began, redirects included.
    const browser = new Browser(app);
    const led = { headers: { 'sec-fetch-site': 'cross-site' } };
    const begun = await browser.fetch(authorizeUrl(fresh, { challenge }), led);
    const pause = await (await browser.fetch(begun.headers.get('location') ?? '', led)).text();
    const next = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(pause)?.[1] ?? '';
    // Whoever has no session gets the login then, and never a second pause.
    expect(await (await browser.fetch(next, led)).text()).toContain('<title>Sign in – ');
    browser.adopt('session_id', session);
    const own = { headers: { 'sec-fetch-site': 'same-origin' } };
    expect(await (await browser.fetch(next, own)).text()).toContain('<title>Allow Reader? – ');
  });

  it('leads back with access_denied from either page', async () => {
    const fresh = await oauthClient(app, { owner: user });
    const url = authorizeUrl(fresh, { challenge });
    for (const browser of [new Browser(app), await signedIn()]) {
      const { response } = await browser.open(url);
      const { left } = await browser.submit(await response.text(), {}, '/cancel');
      expect(left?.origin + (left?.pathname ?? '')).toBe(REDIRECT_URI);
      expect(Object.fromEntries(left?.searchParams ?? [])).toMatchObject({
        error: 'access_denied',
        state: 'the-state',
        iss: ORIGIN,
      });
    }
  });

  it('lets another account in', async () => {
    const other = await person(app);
    const fresh = await oauthClient(app, { owner: user });
    const browser = await signedIn();
    const { response } = await browser.open(authorizeUrl(fresh, { challenge }));
    const consent = await response.text();
    const elsewhere = /<a href="([^"]+)">Use another account/.exec(consent)?.[1] ?? '';
    const again = await (await browser.fetch(elsewhere)).text();
    expect(again).toContain('<title>Sign in – ');
    const { response: asked } = await browser.submit(again, { email: other.email, password: PASSWORD });
    expect(await asked.text()).toContain(other.email);
    // What was shown for the first account is not allowed by the second.
    const { response: shown, left } = await browser.submit(consent);
    expect(left).toBeUndefined();
    expect(await shown.text()).toContain(other.email);
  });

  it('ends for an account that can hold nothing of what is asked', async () => {
    const emails = await oauthClient(app, {
      owner: { id: user.id, role: 'admin' },
      scopes: ['users:email'],
    });
    const { left } = await (await signedIn()).open(authorizeUrl(emails, { challenge }));
    expect(left?.searchParams.get('error')).toBe('invalid_scope');
  });

  it('can be gone in two tabs at once', async () => {
    const browser = await signedIn();
    const fresh = await oauthClient(app, { owner: user });
    const ask = (state: string) =>
      browser.open(authorizeUrl(fresh, { challenge, extra: { state, prompt: 'consent' } }));
    const tabs = [await ask('one'), await ask('two')];
    const pages = await Promise.all(tabs.map(({ response }) => response.text()));
    const ends = [];
    for (const page of pages) ends.push(await browser.submit(page));
    expect(ends.map(({ left }) => left?.searchParams.get('state'))).toEqual(['one', 'two']);
    expect(ends.every(({ left }) => left?.searchParams.has('code'))).toBe(true);
    // What has been answered cannot be answered again.
    expect((await browser.submit(pages[0] ?? '')).response.status).toBe(400);
  });

  it('gives one code, however often it is allowed at once', async () => {
    const fresh = await oauthClient(app, { owner: user });
    for (let round = 0; round < 5; round += 1) {
      const browser = await signedIn();
      const { response } = await browser.open(
        authorizeUrl(fresh, { challenge, extra: { prompt: 'consent' } }),
      );
      const page = await response.text();
      const ends = await Promise.all(Array.from({ length: 4 }, () => browser.submit(page)));
      expect(ends.filter(({ left }) => left?.searchParams.has('code')).length).toBeLessThanOrEqual(1);
      for (const { response: end, left } of ends) if (left === undefined) expect(end.status).toBe(400);
    }
  });

  it('leads nowhere but to the client’s own address', async () => {
    const fresh = await oauthClient(app, { owner: user });
    await authorizeClient(app, fresh, user);
    const elsewhere = 'returnTo=https://evil.example&next=//evil.example&redirect_url=https://evil.example';
    const { left } = await (await signedIn()).open(`${authorizeUrl(fresh, { challenge })}&${elsewhere}`);
    expect(left?.origin).toBe('https://client.example');
  });
});
