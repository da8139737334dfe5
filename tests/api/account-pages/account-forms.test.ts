import { describe, expect, it } from 'vitest';
import { accountPage, alertIn } from '../../support/account-page.ts';
import { useApp } from '../../support/app.ts';
import { actions } from '../../support/audit.ts';
import { cookieOf, freshCookie, gqlAs, login, PASSWORD, visitor } from '../../support/credentials/session.ts';
import { dataOf } from '../../support/rejection.ts';

const app = useApp();
const { open, send, listed } = accountPage(app);
const NEW = 'a new and long enough password';
const statusOf = async (key: string) => (await app.gql('{ viewer { id } }', { key })).status;

describe('On the account page', () => {
  it('the profile is changed, and a wrong one is kept in the form', async () => {
    const { cookie } = await visitor(app, { name: 'Ada' });
    const change = (fields: Record<string, string>) => send(cookie, { do: 'update-profile', ...fields });
    const profile = { name: 'Grace <b>', handle: 'grace', bio: '\n"Moths"\n</textarea>' };
    const done = await change({ ...profile, bio: '\r\n"Moths"\r\n</textarea>', avatarUrl: '' });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/account?done=update-profile']);
    expect(await listed(cookie, 'name handle bio avatarUrl')).toEqual({ ...profile, avatarUrl: null });
    const shown = await (await open(cookie)).text();
    expect(shown).toContain('<h1>Grace &lt;b&gt;</h1>');
    expect(shown).toContain('<p>@grace</p>');
    // Parsers drop the first line break of a text area.
    expect(shown).toContain('>\n\n&quot;Moths&quot;\n&lt;/textarea&gt;</textarea>');
    const long = `"${'x'.repeat(101)}`;
    for (const [fields, alert, kept] of [
      [{ name: long }, /^The name must/, `value="&quot;${'x'.repeat(101)}"`],
      [{ handle: 'A"' }, /^The handle must be 3 to 30/, 'value="A&quot;"'],
      [{ bio: 'y'.repeat(501) }, /^The text about you must/, `\n${'y'.repeat(501)}</textarea>`],
      [{ avatarUrl: 'http://x/"' }, /^The URL of the picture must/, 'value="http://x/&quot;"'],
    ] as const) {
      const rejected = await change({ ...profile, ...fields });
      expect(rejected.status).toBe(400);
      const page = await rejected.text();
      expect(alertIn(page)).toMatch(alert);
      expect(page).toContain(kept);
      expect(page).toContain('<details open>');
      expect(page).toMatch(new RegExp(`name="${Object.keys(fields)[0]}"[^>]* aria-invalid="true" autofocus`));
    }
    const other = await visitor(app);
    const taken = await send(other.cookie, { do: 'update-profile', handle: 'grace' });
    expect(alertIn(await taken.text())).toBe('The handle belongs to another account. Choose another one.');
    expect((await change({ handle: '' })).status).toBe(303);
    expect(await listed(cookie, 'name handle bio')).toEqual({ ...profile, handle: null });
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
      [{ again: 'another' }, 'The two passwords differ. Enter the same password twice.'],
      [{ newPassword: 'short', again: 'short' }, /^The new password must/],
      [
        { newPassword: 'qwerty123456', again: 'qwerty123456' },
        /^The new password is a commonly used password/,
      ],
    ] as const) {
      const rejected = await change(fields);
      expect(rejected.status).toBe(400);
      const page = await rejected.text();
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
    const rejected = await send(cookie, [...wish, ['currentPassword', 'wrong']]);
    expect(rejected.status).toBe(400);
    const again = await rejected.text();
    expect(again).toContain('value="posts:read" checked');
    expect(again).not.toContain('value="posts:write" checked');
    expect(again).toContain('<option value="90" selected>');
    expect(again).toContain('value="Script"');
    const none = await send(cookie, [
      ...wish.filter(([name]) => name !== 'scope'),
      ['currentPassword', PASSWORD],
    ]);
    const unasked = await none.text();
    expect(alertIn(unasked)).toMatch(/^Choose at least one permission/);
    // A group of boxes cannot have the focus.
    expect(unasked).toMatch(
      /<input type="checkbox" name="scope" value="[^"]*" aria-invalid="true" autofocus/,
    );
    expect(unasked.match(/ autofocus/g)).toHaveLength(1);
    const before = Date.now();
    const made = await send(cookie, [...wish, ['currentPassword', PASSWORD]]);
    expect(made.status).toBe(200);
    const key = />(cga_[0-9A-Za-z]+)</.exec(await made.text())?.[1] ?? '';
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
    const rejected = await send(cookie, { do: 'download', currentPassword: 'wrong' });
    expect([rejected.status, rejected.headers.get('content-disposition')]).toEqual([400, null]);
    const file = await send(cookie, { do: 'download', currentPassword: PASSWORD });
    expect(file.status).toBe(200);
    expect(file.headers.get('content-disposition')).toBe('attachment; filename="account.json"');
    expect(file.headers.get('cache-control')).toBe('no-store, no-transform');
    expect(file.headers.get('x-accel-buffering')).toBe('no');
    const text = await file.text();
    const data = JSON.parse(text);
    expect(data.account).toMatchObject({ name: 'Ada', email });
    expect(data.posts.map(({ title }: { title: string }) => title)).toEqual(['Mine']);
    expect(data.sessions).toHaveLength(1);
    expect(text).not.toContain('argon2');
  });

  it('everything is revoked at once, and one signs in again', async () => {
    const { email, cookie, key } = await visitor(app);
    const rejected = await send(cookie, { do: 'revoke-everything', currentPassword: 'wrong' });
    expect(alertIn(await rejected.text())).toBe('The password is wrong.');
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
