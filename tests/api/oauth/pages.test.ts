import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  authorizeClient,
  authorizeUrl,
  Browser,
  oauthClient,
  PKCE,
  REDIRECT_URI,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import {
  freshCookie,
  gqlAs,
  login,
  PASSWORD,
  type Person,
  person,
} from '../../support/credentials/session.ts';
import { dataOf } from '../../support/rejection.ts';

const app = useApp();
const SESSIONS = '{ viewer { sessions { id } } }';
const { challenge } = PKCE();

let user: Person;
let client: TestClient;
beforeAll(async () => {
  user = await person(app, { name: 'Ada & <Co>' });
  client = await oauthClient(app, { owner: await app.account(), name: 'Post <b>Reader</b>' });
});

const credentials = () => ({ email: user.email, password: user.password });
const start = (options: Parameters<typeof authorizeUrl>[1] = {}, browser = new Browser(app)) =>
  browser.open(authorizeUrl(client, { challenge, ...options })).then((step) => ({ ...step, browser }));
const signedIn = async () => new Browser(app, { session_id: (await freshCookie(app, user.email)).slice(11) });

describe('each page', () => {
  it('can be put into no other page, runs no script and is kept nowhere', async () => {
    const { browser, response: first } = await start();
    const { response: consent } = await browser.submit(await first.clone().text(), credentials());
    const { response: error } = await start({ redirectUri: 'https://evil.example/' });
    for (const page of [first, consent, error]) {
      const policy = page.headers.get('content-security-policy') ?? '';
      const text = await page.text();
      const style = /<style>([\s\S]*?)<\/style>/.exec(text)?.[1] ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`);
      expect(policy).not.toMatch(/unsafe|\*|script-src/);
      expect(page.headers.get('x-frame-options')).toBe('DENY');
      expect(page.headers.get('cross-origin-opener-policy')).toBe('same-origin');
      expect(page.headers.get('cache-control')).toBe('no-store');
      expect(page.headers.get('referrer-policy')).toBe('same-origin');
      expect(text).not.toMatch(/<script|javascript:|\son\w+=|\sstyle=/i);
      expect(text).toMatch(/<html lang="en">/);
    }
    for (const page of [first, consent])
      expect(page.headers.get('content-security-policy')).toContain("form-action 'self' https:;");
  });

  it('shows names as they are written, and a label for every field', async () => {
    const { browser, response } = await start();
    const page = await response.text();
    expect(page).toContain('Post &lt;b&gt;Reader&lt;/b&gt;');
    for (const id of ['email', 'password']) expect(page).toMatch(new RegExp(`<label for="${id}">`));
    const { response: asked } = await browser.submit(page, credentials());
    const consent = await asked.text();
    expect(consent).toContain('Ada &amp; &lt;Co&gt;');
    expect(consent).toContain('Write posts in your name');
    expect(consent).toContain('client.example');
  });

  it('is for its own browser only', async () => {
    const { browser, response } = await start();
    const page = await response.text();
    const action = /action="([^"]+)\/login"/.exec(page)?.[1] ?? '';
    const stranger = await new Browser(app).fetch(action);
    expect([stranger.status, await stranger.text()]).toEqual([
      400,
      expect.stringContaining('another browser'),
    ]);
    // What another browser has begun opens nothing here.
    const other = new Browser(app);
    const { response: begun } = await start({}, other);
    const elsewhere = /action="([^"]+)\/login"/.exec(await begun.text())?.[1] ?? '';
    expect((await browser.fetch(elsewhere)).status).toBe(400);
    // Its own it may have several of, side by side.
    const { response: second } = await start({}, browser);
    const beside = /action="([^"]+)\/login"/.exec(await second.text())?.[1] ?? '';
    expect(beside).not.toBe(action);
    for (const path of [action, beside]) expect((await browser.fetch(path)).status).toBe(200);
  });
});

describe('signing in', () => {
  it('opens a session of the service, and takes the place of the one before', async () => {
    const browser = await signedIn();
    const before = browser.cookie('session_id');
    const { response } = await start({ extra: { prompt: 'login' } }, browser);
    await browser.submit(await response.text(), credentials());
    const after = browser.cookie('session_id');
    expect(after).not.toBe(before);
    expect((await gqlAs(app, `session_id=${before}`, SESSIONS)).status).toBe(401);
    expect(dataOf(await gqlAs(app, `session_id=${after}`, SESSIONS)).viewer.sessions.length).toBeGreaterThan(
      0,
    );
  });

  it('with a wrong password is rejected, in the same words as for an unknown account', async () => {
    const texts: string[] = [];
    for (const email of [user.email, 'nobody@example.com']) {
      const { browser, response } = await start();
      const { response: rejected } = await browser.submit(await response.text(), {
        email,
        password: 'wrong',
      });
      expect(rejected.status).toBe(401);
      expect(browser.cookie('session_id')).toBeUndefined();
      const page = await rejected.text();
      texts.push(/role="alert">(.*?)</.exec(page)?.[1] ?? '');
      expect(page).toContain(`value="${email}"`);
    }
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0]).not.toBe('');
  });

  /** Answers the form of a sign-in as `open` does not: without following. */
  const send = (browser: Browser, action: string, fields: Record<string, string>) =>
    browser.fetch(action, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    });

  it('with a wrong password leads to a page that says so once, in this sign-in alone', async () => {
    const { browser, response } = await start();
    const action = /action="([^"]+\/login)"/.exec(await response.text())?.[1] ?? '';
    const page = action.replace('/login', '');
    const { response: second } = await start({}, browser);
    const beside = /action="([^"]+)\/login"/.exec(await second.text())?.[1] ?? '';

    const email = `${'ü'.repeat(300)}@example.com`;
    const rejected = await send(browser, action, { email, password: 'wrong' });
    expect([rejected.status, rejected.headers.get('location')]).toEqual([303, page]);
    const [cookie = '', ...others] = rejected.headers.getSetCookie();
    expect(others).toEqual([]);
    expect(cookie).toMatch(/^__Host-[^;]{1,1000}; Path=\/; HttpOnly; Secure; SameSite=Strict; Max-Age=60$/);
    expect(cookie).not.toContain('wrong');
    const isTold = async (path: string) => {
      const result = await browser.fetch(path);
      return [result.status, (await result.text()).includes('role="alert"')];
    };
    expect(await isTold(beside)).toEqual([200, false]);
    const told = await browser.fetch(page);
    expect([told.status, told.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    const text = await told.text();
    expect(text).toContain('role="alert"');
    expect(text).toContain(`value="${'ü'.repeat(254)}"`);
    expect(await isTold(page)).toEqual([200, false]);

    // What is no rejection of this sign-in says nothing.
    const name = cookie.split('=')[0] ?? '';
    for (const value of ['', 'x', `..`, `1.${page.split('/').at(-1)}`, `-1.${page.split('/').at(-1)}.eA`]) {
      browser.adopt(name, value);
      expect(await isTold(page)).toEqual([200, false]);
    }
  });

  it('as somebody else with a wrong password stays at that form', async () => {
    const browser = await signedIn();
    const { response } = await start({ extra: { prompt: 'consent' } }, browser);
    const consent = await response.text();
    const other = /href="([^"]+another-account)"/.exec(consent)?.[1] ?? '';
    const form = await (await browser.fetch(other)).text();
    const wrong = { email: 'nobody@example.com', password: 'wrong' };
    const { response: rejected } = await browser.submit(form, wrong, '/login');
    expect(rejected.status).toBe(401);
    expect(await (await browser.fetch(other)).text()).toContain('name="password"');
  });

  it('and allowing, sent by another site, does nothing', async () => {
    const { browser, response } = await start();
    const page = await response.text();
    const action = /action="([^"]+\/login)"/.exec(page)?.[1] ?? '';
    const post = (headers: Record<string, string>, path = action) =>
      browser.fetch(path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams(credentials()).toString(),
      });
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ])
      for (const path of [action, action.replace('login', 'allow'), action.replace('login', 'cancel')])
        expect((await post(headers as Record<string, string>, path)).status).toBe(403);
    expect(browser.cookie('session_id')).toBeUndefined();
  });
});

describe('a client that wants its response posted', () => {
  it('gets it by a form that posts itself, and may run nothing else', async () => {
    const fresh = await oauthClient(app, { owner: user });
    await authorizeClient(app, fresh, user);
    const extra = { response_mode: 'form_post' };
    const { response } = await (await signedIn()).open(authorizeUrl(fresh, { challenge, extra }));
    const page = await response.text();
    expect(page).toContain(`<form method="post" action="${REDIRECT_URI}">`);
    expect(page).toMatch(/name="code" value="[\w-]{43}"/);
    const script = /<script>([\s\S]*?)<\/script>/.exec(page)?.[1] ?? '';
    const hash = createHash('sha256').update(script).digest('base64');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain(`script-src 'sha256-${hash}'`);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(response.headers.get('cross-origin-opener-policy')).toBe('same-origin');
  });
});

describe('an authorization that is stored', () => {
  it('tells its address to nobody who could try out all that there are', async () => {
    await start();
    const records = await app.prisma.oAuthRecord.findMany({ where: { model: 'Interaction' } });
    const stored = JSON.stringify(records);
    expect(records.length).toBeGreaterThan(0);
    for (const address of ['127.0.0.1', 'address:127.0.0.1'])
      for (const encoding of ['hex', 'base64', 'base64url'] as const)
        expect(stored).not.toContain(createHash('sha256').update(address).digest(encoding));
    expect(stored).not.toContain('127.0.0.1"');
  });
});

describe('the pages', () => {
  const strict = useApp({ settings: { RATE_LIMIT_BURST: '3', RATE_LIMIT_PER_SECOND: '0.001' } });

  it('are shown so often to an address', async () => {
    const asking = await oauthClient(strict, { owner: await strict.account() });
    const ask = () => strict.fetch(authorizeUrl(asking, { challenge }), { redirect: 'manual' });
    for (let i = 0; i < 3; i += 1) expect((await ask()).status).toBe(303);
    const rejected = await ask();
    expect([rejected.status, rejected.headers.get('content-type')]).toEqual([
      429,
      'text/html; charset=utf-8',
    ]);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    // What the account does elsewhere is counted elsewhere.
    expect((await strict.fetch('/oauth/jwks')).status).toBe(200);
  });
});

describe('failed logins on the page', () => {
  const strict = useApp({ settings: { AUTH_FAILURE_BURST: '3', AUTH_FAILURE_REFILL_SECONDS: '3600' } });

  it('are counted with all others', async () => {
    const victim = await person(strict);
    const asking = await oauthClient(strict, { owner: victim });
    const browser = new Browser(strict);
    const { response } = await browser.open(authorizeUrl(asking, { challenge }));
    const page = await response.text();
    for (let i = 0; i < 3; i += 1)
      await browser.submit(page, { email: victim.email, password: `wrong ${i}` });
    const { response: rejected } = await browser.submit(page, { email: victim.email, password: PASSWORD });
    expect(rejected.status).toBe(429);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await rejected.text()).toMatch(/Try again in \d+ seconds/);
    expect((await login(strict, { email: victim.email, password: PASSWORD })).status).toBe(429);
  });
});
