import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { actions } from '../../support/audit.ts';
import {
  cookieOf,
  freshCookie,
  gqlAs,
  login,
  PASSWORD,
  person,
  visitor,
} from '../../support/credentials/session.ts';
import { dataOf } from '../../support/refusal.ts';

const app = useApp();
const ORIGIN = 'http://127.0.0.1:4000';
const NEW = 'a new and long enough password';

const open = (cookie: string, query = '', headers: Record<string, string> = {}) =>
  app.fetch(`/account${query}`, { headers: { cookie, ...headers } });

/** Sends a form of the page, as a browser does from it. */
const send = (
  cookie: string,
  fields: Record<string, string> | [string, string][],
  headers: Record<string, string> = {},
) =>
  app.fetch('/account', {
    method: 'POST',
    redirect: 'manual',
    headers: {
      cookie,
      origin: ORIGIN,
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      'sec-fetch-dest': 'document',
      ...headers,
    },
    body: new URLSearchParams(fields),
  });

const alertIn = (page: string) => /role="alert">([^<]*)</.exec(page)?.[1];
const statusOf = async (key: string) => (await app.gql('{ viewer { id } }', { key })).status;
const listed = async (cookie: string, list: string) =>
  dataOf(await gqlAs(app, cookie, `{ viewer { ${list} } }`)).viewer;

describe('The account page', () => {
  it('asks whoever has no session to sign in, and shows the account then', async () => {
    const { email } = await person(app);
    const asked = await open('');
    expect(asked.status).toBe(200);
    const form = await asked.text();
    expect(form).toContain('Sign in');
    expect(form).not.toContain(email);
    const wrong = await send('', { do: 'sign-in', email, password: 'wrong' });
    expect([wrong.status, wrong.headers.getSetCookie()]).toEqual([401, []]);
    expect(alertIn(await wrong.text())).toMatch(/wrong/);
    const right = await send('', { do: 'sign-in', email, password: PASSWORD });
    expect([right.status, right.headers.get('location')]).toEqual([303, '/account?done=sign-in']);
    const page = await (await open(cookieOf(right))).text();
    expect(page).toContain(email);
    expect(page).toContain('this one');
  });

  it('is for nobody else: not stored, not framed, not compressed, and with nothing but a session', async () => {
    const { cookie, key, email } = await visitor(app);
    const page = await open(cookie, '', { 'accept-encoding': 'gzip, br' });
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      vary: expect.stringContaining('Cookie'),
    });
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(page.headers.get('content-encoding')).toBeNull();
    expect(page.headers.get('etag')).toBeNull();
    expect((await open(cookie, '', { 'sec-fetch-dest': 'iframe' })).status).toBe(400);
    for (const other of [
      await app.fetch(`/account?api_key=${key}`),
      await open('', '', { authorization: `Bearer ${key}` }),
    ]) {
      expect(other.status).toBe(200);
      const text = await other.text();
      expect(text).toContain('name="password"');
      expect(text).not.toContain(email);
    }
  });

  it('signs in whoever comes with a cookie that has ended, or with several, and says what is wrong with these', async () => {
    const { email } = await person(app);
    const ended = `session_id=${'x'.repeat(43)}`;
    const signedIn = await send(ended, { do: 'sign-in', email, password: PASSWORD });
    expect(signedIn.headers.getSetCookie()).toHaveLength(1);
    expect(await (await open(cookieOf(signedIn))).text()).toContain(email);
    const several = await open(`${ended}; session_id=${'y'.repeat(43)}`);
    expect(alertIn(await several.text())).toMatch(/more than one session cookie/);
  });

  it('tells whoever has just signed in, and has no cookie', async () => {
    expect(alertIn(await (await open('', '?done=sign-in')).text())).toMatch(/does not keep the cookie/);
    expect(alertIn(await (await open('', '?done=sign-out')).text())).toBeUndefined();
  });

  it('takes an ended session for none, which counts as no failure', async () => {
    for (let time = 0; time < 15; time += 1) {
      const page = await open(`session_id=${'x'.repeat(43)}`);
      expect(page.status).toBe(200);
      expect(page.headers.getSetCookie()[0]).toMatch(/^session_id=;/);
    }
    expect((await send('', { do: 'rename', name: 'x' })).status).toBe(401);
  });

  it('ends the session that a new one replaces, whoever has planted it', async () => {
    const planted = await visitor(app);
    const { email } = await person(app);
    const signedIn = await send(planted.cookie, { do: 'sign-in', email, password: PASSWORD });
    expect(cookieOf(signedIn)).not.toBe(planted.cookie);
    expect((await gqlAs(app, planted.cookie, '{ viewer { id } }')).status).toBe(401);
  });

  it('refuses forms that come from elsewhere, before it looks at any cookie', async () => {
    const { cookie } = await visitor(app, { name: 'Ada' });
    const elsewhere: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of elsewhere) {
      for (const fields of [
        { do: 'rename', name: 'Mallory' },
        { do: 'sign-out' },
        { do: 'sign-in', email: 'a@example.com', password: PASSWORD },
      ]) {
        const refused = await send(cookie, fields, headers);
        expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []]);
      }
    }
    expect(await listed(cookie, 'name')).toEqual({ name: 'Ada' });
  });

  it('goes on by itself where another site has led to it, since the cookie did not come along', async () => {
    const page = await open('', '', { 'sec-fetch-site': 'cross-site' });
    expect(await page.text()).toContain('content="0; url=/account?from-here"');
    const again = await open('', '?from-here', { 'sec-fetch-site': 'cross-site' });
    expect(await again.text()).toContain('name="password"');
  });

  it('says what was done to whoever did it, and to nobody whom another site leads there', async () => {
    const { cookie } = await visitor(app);
    const seen = async (site: string) =>
      (await (await open(cookie, '?done=change-password', { 'sec-fetch-site': site })).text()).includes(
        'Your password is changed',
      );
    expect([await seen('same-origin'), await seen('cross-site'), await seen('same-site')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(await (await open(cookie, '?done=<b>')).text()).not.toContain('<b>');
  });

  it('does what its forms say, whatever else a request says of operations', async () => {
    const { cookie } = await visitor(app);
    const headers = {
      'idempotency-key': 'the same',
      'x-query-cost': '1',
      'x-show-event-id': '1',
      accept: 'text/html',
    };
    const create = {
      do: 'create-key',
      name: 'k',
      scope: 'posts:read',
      days: '30',
      currentPassword: PASSWORD,
    };
    const keys = new Set<string | undefined>();
    for (let time = 0; time < 2; time += 1) {
      const made = await send(cookie, create, headers);
      expect(made.status).toBe(200);
      keys.add(/value="(cga_\w+)"/.exec(await made.text())?.[1]);
    }
    expect(keys.size).toBe(2);
    expect(keys.has(undefined)).toBe(false);
    const page = await open(cookie, '', headers);
    expect([page.status, page.headers.get('etag')]).toEqual([200, null]);
  });

  it('refuses a form that it does not have, and any other method', async () => {
    const { cookie } = await visitor(app);
    expect((await send(cookie, { do: 'delete' })).status).toBe(400);
    expect((await send(cookie, {})).status).toBe(400);
    expect((await send(cookie, {}, { 'content-type': 'text/plain' })).status).toBe(400);
    expect((await app.fetch('/account', { method: 'PUT' })).status).toBe(405);
  });
});

describe('On the account page', () => {
  it('the name is changed, and a wrong one is kept in the form', async () => {
    const { cookie } = await visitor(app, { name: 'Ada' });
    const done = await send(cookie, { do: 'rename', name: 'Grace <b>' });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/account?done=rename']);
    expect(await (await open(cookie)).text()).toContain('Grace &lt;b&gt;');
    const long = `"${'x'.repeat(101)}`;
    const refused = await send(cookie, { do: 'rename', name: long });
    expect(refused.status).toBe(400);
    const page = await refused.text();
    expect(alertIn(page)).toMatch(/^The name must/);
    expect(page).toContain(`value="&quot;${'x'.repeat(101)}"`);
    expect(page).toContain('<details open>');
  });

  it('the password is changed, which ends the other sessions and goes on in a new one', async () => {
    const { email, cookie } = await visitor(app);
    const other = await freshCookie(app, email);
    const change = (fields: Record<string, string>) =>
      send(cookie, {
        do: 'change-password',
        currentPassword: PASSWORD,
        newPassword: NEW,
        again: NEW,
        ...fields,
      });
    for (const [fields, alert] of [
      [{ currentPassword: 'wrong' }, 'The password is wrong.'],
      [{ again: 'another' }, 'The two passwords differ.'],
      [{ newPassword: 'short', again: 'short' }, /^The new password must/],
      [{ newPassword: 'qwerty123456', again: 'qwerty123456' }, /^The new password is one of those/],
    ] as const) {
      const refused = await change(fields);
      expect(refused.status).toBe(400);
      const page = await refused.text();
      expect(alertIn(page)).toMatch(alert);
      expect(page).not.toContain(NEW);
    }
    const done = await change({});
    expect(done.status).toBe(303);
    const next = cookieOf(done);
    expect((await gqlAs(app, cookie, '{ viewer { id } }')).status).toBe(401);
    expect((await gqlAs(app, other, '{ viewer { id } }')).status).toBe(401);
    expect(await (await open(next)).text()).toContain(email);
    expect((await login(app, { email, password: NEW })).status).toBe(200);
  });

  it('sessions are ended one by one, but nobody else’s', async () => {
    const { email, cookie } = await visitor(app);
    await freshCookie(app, email);
    const { sessions } = await listed(cookie, 'sessions { id current }');
    const other = sessions.find(({ current }: { current: boolean }) => !current).id;
    const stranger = await visitor(app);
    await send(stranger.cookie, { do: 'end-session', id: other });
    expect((await listed(cookie, 'sessions { id }')).sessions).toHaveLength(2);
    expect((await send(cookie, { do: 'end-session', id: other })).status).toBe(303);
    expect((await listed(cookie, 'sessions { id }')).sessions).toHaveLength(1);
    // As if it had been done now: it is over, which is what was asked for.
    expect((await send(cookie, { do: 'end-session', id: other })).status).toBe(303);
  });

  it('a key is created with the password, shown once, and revoked', async () => {
    const { id: account, cookie } = await visitor(app, { scopes: [] });
    const wish: [string, string][] = [
      ['do', 'create-key'],
      ['name', 'Script'],
      ['scope', 'posts:read'],
      ['scope', 'users:read'],
      ['days', '90'],
    ];
    const refused = await send(cookie, [...wish, ['currentPassword', 'wrong']]);
    expect(refused.status).toBe(400);
    const again = await refused.text();
    expect(again).toContain('value="posts:read" checked');
    expect(again).not.toContain('value="posts:write" checked');
    expect(again).toContain('<option value="90" selected>');
    expect(again).toContain('value="Script"');
    const none = await send(cookie, [
      ...wish.filter(([name]) => name !== 'scope'),
      ['currentPassword', PASSWORD],
    ]);
    expect(alertIn(await none.text())).toMatch(/^What the key may do must/);
    const before = Date.now();
    const made = await send(cookie, [...wish, ['currentPassword', PASSWORD]]);
    expect(made.status).toBe(200);
    const key = /value="(cga_[0-9A-Za-z]+)"/.exec(await made.text())?.[1] ?? '';
    expect(dataOf(await app.gql('{ viewer { id } }', { key })).viewer).toEqual({ id: account });
    const page = await (await open(cookie)).text();
    expect(page).not.toContain(key);
    expect(page).toContain('Script');
    const { apiKeys } = await listed(cookie, 'apiKeys { id name scopes expiresAt }');
    const own = apiKeys.find(({ name }: { name: string }) => name === 'Script');
    expect(own.scopes).toEqual(['posts:read', 'users:read']);
    const days = (Date.parse(own.expiresAt) - before) / 86_400_000;
    expect([days > 89.9, days < 90.1]).toEqual([true, true]);
    expect((await send(cookie, { do: 'revoke-key', id: own.id })).status).toBe(303);
    await expect.poll(() => statusOf(key)).toBe(401);
    expect(await actions(app, '--subject', account)).toEqual(['createApiKey', 'revokeApiKey']);
  });

  it('what is stored about the account is a file, for whoever gives the password', async () => {
    const { email, cookie, key } = await visitor(app, { name: 'Ada' });
    await app.gql('mutation { createPost(title: "Mine", body: "b") { id } }', { key });
    const refused = await send(cookie, { do: 'download', currentPassword: 'wrong' });
    expect([refused.status, refused.headers.get('content-disposition')]).toEqual([400, null]);
    const file = await send(cookie, { do: 'download', currentPassword: PASSWORD });
    expect(file.status).toBe(200);
    expect(file.headers.get('content-disposition')).toBe('attachment; filename="account.json"');
    expect(file.headers.get('cache-control')).toBe('no-store');
    const text = await file.text();
    const data = JSON.parse(text);
    expect(data.account).toMatchObject({ name: 'Ada', email });
    expect(data.posts.map(({ title }: { title: string }) => title)).toEqual(['Mine']);
    expect(data.sessions).toHaveLength(1);
    expect(text).not.toContain('argon2');
  });

  it('everything is revoked at once, and one signs in again', async () => {
    const { email, cookie, key } = await visitor(app);
    const refused = await send(cookie, { do: 'revoke-everything', currentPassword: 'wrong' });
    expect(alertIn(await refused.text())).toBe('The password is wrong.');
    const done = await send(cookie, { do: 'revoke-everything', currentPassword: PASSWORD });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/account?done=revoke-everything']);
    expect(done.headers.getSetCookie()[0]).toMatch(/^session_id=;.*Max-Age=0/);
    expect((await gqlAs(app, cookie, '{ viewer { id } }')).status).toBe(401);
    await expect.poll(() => statusOf(key)).toBe(401);
    expect(await (await open('', '?done=revoke-everything')).text()).toContain('Everything is revoked');
    expect((await send('', { do: 'sign-in', email, password: PASSWORD })).status).toBe(303);
  });

  it('one signs out, with or without a session', async () => {
    const { cookie } = await visitor(app);
    for (let time = 0; time < 2; time += 1) {
      const out = await send(cookie, { do: 'sign-out' });
      expect([out.status, out.headers.get('location')]).toEqual([303, '/account?done=sign-out']);
      expect(out.headers.get('clear-site-data')).toBe('"cache"');
      expect(out.headers.getSetCookie()[0]).toMatch(/^session_id=;/);
    }
    expect((await gqlAs(app, cookie, '{ viewer { id } }')).status).toBe(401);
  });
});
