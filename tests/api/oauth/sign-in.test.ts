import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  authorizeClient,
  authorizeUrl,
  Browser,
  exchangeCode,
  oauthClient,
  PKCE,
  statusWith,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { freshCookie, type Person, person } from '../../support/credentials/session.ts';

const app = useApp();
const { challenge, verifier } = PKCE();

let grace: Person;
let client: TestClient;
beforeAll(async () => {
  grace = await person(app, { name: 'Grace' });
  client = await oauthClient(app, { owner: await app.account() });
});

const credentials = () => ({ email: grace.email, password: grace.password });
const sessionOf = async () => (await freshCookie(app, grace.email)).slice('session_id='.length);

/** An authorization that somebody has begun, and another browser that a sibling's cookies have been planted in. */
async function planted(by = client) {
  const mallory = new Browser(app);
  const begun = await mallory.fetch(authorizeUrl(by, { challenge }));
  const page = begun.headers.get('location') ?? '';
  expect(page).toMatch(/^\/oauth\/interaction\//);
  const victim = new Browser(app);
  victim.plantedBy(mallory);
  return { mallory, victim, page };
}

/** What is behind every redirect that stays here, as far as this browser gets. */
async function reached(browser: Browser, address: string) {
  const { response, left } = await browser.open(address);
  return { code: left?.searchParams.get('code') ?? null, text: await response.text() };
}

/** Neither at the page, nor at the path where the library goes on with an authorization. */
async function getsNoCode(browser: Browser, page: string): Promise<void> {
  for (const path of [page, page.replace('interaction', 'authorize')])
    expect((await reached(browser, path)).code).toBeNull();
}

describe('who signs in with the cookies of somebody else’s authorization', () => {
  it('lets only the browser that holds the new session see who it is, and allow', async () => {
    const { mallory, victim, page } = await planted();
    const { response } = await victim.open(page);
    const { response: asked } = await victim.submit(await response.text(), credentials(), '/login');
    expect(await asked.text()).toContain('Signed in as <strong>Grace</strong>');

    const seen = await reached(mallory, page);
    expect(seen.text).not.toContain('Grace');
    expect(seen.text).toContain('name="password"');
    const allowed = await mallory.open(`${page}/allow`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ account: grace.id }).toString(),
    });
    expect(allowed.left).toBeUndefined();
    expect(await allowed.response.text()).toContain('name="password"');
  });

  it('and allows gives no code to the browser that it was planted by', async () => {
    const { mallory, victim, page } = await planted();
    const { response } = await victim.open(page);
    const { response: asked } = await victim.submit(await response.text(), credentials(), '/login');
    const action = /action="([^"]+\/allow)"/.exec(await asked.text())?.[1] ?? '';
    // Trying it takes nothing from who allows.
    await getsNoCode(mallory, page);
    const { left } = await victim.open(action, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ account: grace.id }).toString(),
    });
    const code = left?.searchParams.get('code');
    expect(code).toEqual(expect.any(String));
    await getsNoCode(mallory, page);
    const { body } = await exchangeCode(app, client, { code: code ?? '', verifier });
    expect(await statusWith(app, body.access_token)).toBe(200);
  });

  it('and allows while the browser that it was planted by cancels gives no code to it', async () => {
    for (let round = 0; round < 3; round += 1) {
      // The user has not allowed this client yet, so the page asks.
      const { mallory, victim, page } = await planted(await oauthClient(app, { owner: grace }));
      const { response } = await victim.open(page);
      const { response: asked } = await victim.submit(await response.text(), credentials(), '/login');
      const form = await asked.text();
      const [cancelled] = await Promise.all([
        mallory.open(`${page}/cancel`, { method: 'POST' }),
        victim.submit(form, {}, '/allow'),
      ]);
      expect(cancelled.left?.searchParams.has('code') ?? false).toBe(false);
    }
  });

  it('and has allowed the client before gives no code to it either', async () => {
    const known = await oauthClient(app, { owner: await app.account() });
    await authorizeClient(app, known, grace);
    const { mallory, victim, page } = await planted(known);
    victim.adopt('session_id', await sessionOf());
    await getsNoCode(mallory, page);
    expect((await reached(victim, page)).code).toEqual(expect.any(String));
    await getsNoCode(mallory, page);
  });
});

describe('a sign-in', () => {
  it('that the browser no longer holds the session of is asked for again', async () => {
    const browser = new Browser(app);
    const { response } = await browser.open(
      authorizeUrl(client, { challenge, extra: { prompt: 'login consent' } }),
    );
    const first = await response.text();
    const page = /action="([^"]+)\/login"/.exec(first)?.[1] ?? '';
    await browser.submit(first, credentials(), '/login');
    const session = browser.cookie('session_id') ?? '';
    expect(await (await browser.fetch(page)).text()).toContain('Grace');
    browser.drop('session_id');
    expect(await (await browser.fetch(page)).text()).toContain('name="password"');
    // Another session of the same account has not signed in here.
    browser.adopt('session_id', await sessionOf());
    expect(await (await browser.fetch(page)).text()).toContain('name="password"');
    browser.adopt('session_id', session);
    expect(await (await browser.fetch(page)).text()).toContain('Grace');
  });

  it('is bound to its browser by a cookie that no sibling domain can set', async () => {
    const browser = new Browser(app);
    const begun = await browser.fetch(authorizeUrl(client, { challenge }));
    const lines = begun.headers.getSetCookie();
    expect(lines).toHaveLength(1);
    // RFC 6265bis section 4.1.3.2.
    expect(lines[0]).toMatch(/^__Host-[^;]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    const again = await browser.fetch(authorizeUrl(client, { challenge }));
    expect(again.headers.getSetCookie()).toEqual([]);
    const another = new Browser(app);
    await another.fetch(authorizeUrl(client, { challenge }));
    for (const response of [begun, again]) {
      const page = response.headers.get('location') ?? '';
      expect((await browser.fetch(page)).status).toBe(200);
      for (const stranger of [new Browser(app), another]) {
        expect((await stranger.fetch(page)).status).toBe(400);
        await getsNoCode(stranger, page);
      }
    }
  });
});
