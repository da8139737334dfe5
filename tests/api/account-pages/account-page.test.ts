import { describe, expect, it } from 'vitest';
import { accountPage, alertIn } from '../../support/account-page.ts';
import { useApp } from '../../support/app.ts';
import { cookieOf, gqlAs, PASSWORD, person, visitor } from '../../support/credentials/session.ts';

const app = useApp();
const { open, send, listed } = accountPage(app);

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
    expect(page).toContain('current session');
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
    expect(alertIn(await (await open('', '?done=sign-in')).text())).toMatch(/blocked the session cookie/);
    expect(alertIn(await (await open('', '?done=sign-out')).text())).toBeUndefined();
  });

  it('takes an ended session for none, which counts as no failure', async () => {
    for (let time = 0; time < 15; time += 1) {
      const page = await open(`session_id=${'x'.repeat(43)}`);
      expect(page.status).toBe(200);
      expect(page.headers.getSetCookie()[0]).toMatch(/^session_id=;/);
    }
    expect((await send('', { do: 'update-profile', name: 'x' })).status).toBe(401);
  });

  it('ends the session that a new one replaces, whoever has planted it', async () => {
    const planted = await visitor(app);
    const { email } = await person(app);
    const signedIn = await send(planted.cookie, { do: 'sign-in', email, password: PASSWORD });
    expect(cookieOf(signedIn)).not.toBe(planted.cookie);
    expect((await gqlAs(app, planted.cookie, '{ viewer { id } }')).status).toBe(401);
  });

  it('rejects forms that come from elsewhere, before it looks at any cookie', async () => {
    const { cookie } = await visitor(app, { name: 'Ada' });
    const elsewhere: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of elsewhere) {
      for (const fields of [
        { do: 'update-profile', name: 'Mallory' },
        { do: 'sign-out' },
        { do: 'sign-in', email: 'a@example.com', password: PASSWORD },
      ]) {
        const rejected = await send(cookie, fields, headers);
        expect([rejected.status, rejected.headers.getSetCookie()]).toEqual([403, []]);
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
    // In another tab, somebody may have signed in since, or the session may have ended.
    expect(await (await open(cookie, '?done=sign-out')).text()).not.toContain('You are signed out.');
    expect(await (await open('', '?done=update-profile')).text()).not.toContain('Your profile is changed.');
  });

  it('does what its forms say, whatever else a request says of operations', async () => {
    const { cookie } = await visitor(app);
    const headers = {
      'idempotency-key': 'the same',
      'x-show-cost': '1',
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
      keys.add(/>(cga_\w+)</.exec(await made.text())?.[1]);
    }
    expect(keys.size).toBe(2);
    expect(keys.has(undefined)).toBe(false);
    const page = await open(cookie, '', headers);
    expect([page.status, page.headers.get('etag')]).toEqual([200, null]);
  });

  it('rejects a form that it does not have, and any other method', async () => {
    const { cookie } = await visitor(app);
    expect((await send(cookie, { do: 'delete' })).status).toBe(400);
    expect((await send(cookie, {})).status).toBe(400);
    expect((await send(cookie, {}, { 'content-type': 'text/plain' })).status).toBe(400);
    expect((await app.fetch('/account', { method: 'PUT' })).status).toBe(405);
  });
});
