import { describe, expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { entries } from '../../support/audit.ts';
import { cookieOf, gqlAs, login, PASSWORD, person, visitor } from '../../support/credentials/session.ts';

const app = useApp({ settings: { PUBLIC_URL: 'https://api.example.com' } });
const NEW = 'a new and long enough password';
const DAY_MS = 24 * 60 * 60_000;

let emails = 0;
function newEmail(): string {
  emails += 1;
  return `invited${emails}@example.com`;
}

/** The link that a command prints, as a path. */
async function linkOf(...args: readonly string[]): Promise<string> {
  const { json, failure } = await adminCommand(app, args);
  expect(failure).toBeUndefined();
  const link = new URL(json.link);
  expect(link.origin).toBe('https://api.example.com');
  return `${link.pathname}${link.search}`;
}
const resetLink = (email: string) => linkOf('user', 'create-reset-link', email);

/** Sends the form of the page, as a browser does from it. */
const send = (path: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  app.fetch(path, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'null',
      'sec-fetch-site': 'same-origin',
      'sec-fetch-dest': 'document',
      ...headers,
    },
    body: new URLSearchParams({ password: NEW, again: NEW, ...fields }),
  });

/** True after a link to the email address was used. */
const isVerified = async (email: string) =>
  (await app.prisma.user.findUniqueOrThrow({ where: { emailKey: email } })).emailVerifiedAt !== null;

const canLogIn = async (email: string, password: string) =>
  (await login(app, { email, password })).status === 200;

describe('A link', () => {
  it('lets somebody who was invited set the password of the new account, once', async () => {
    const email = newEmail();
    const before = Date.now();
    const { json } = await adminCommand(app, ['user', 'invite', email, '--name', 'Grace']);
    expect(Date.parse(json.expiresAt) - before).toBeGreaterThan(DAY_MS - 60_000);
    expect(Date.parse(json.expiresAt) - before).toBeLessThan(DAY_MS + 60_000);
    expect(await canLogIn(email, NEW)).toBe(false);
    const { pathname, search } = new URL(json.link);
    const path = `${pathname}${search}`;
    const page = await app.fetch(path);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('Welcome, Grace');
    expect(await isVerified(email)).toBe(false);
    const set = await send(path);
    expect([set.status, set.headers.getSetCookie()]).toEqual([200, []]);
    expect(await canLogIn(email, NEW)).toBe(true);
    expect(await isVerified(email)).toBe(true);
    expect((await send(path, { password: PASSWORD, again: PASSWORD })).status).toBe(404);
    expect(await canLogIn(email, NEW)).toBe(true);
  });

  it('is not used up by looking, however often, nor by a form that does not do', async () => {
    const { email } = await person(app);
    const path = await resetLink(email);
    for (let time = 0; time < 5; time += 1) expect((await app.fetch(path)).status).toBe(200);
    for (const [password, again] of [
      ['short', 'short'],
      [NEW, `${NEW}!`],
      ['qwerty123456', 'qwerty123456'],
      ['QWERTY123456', 'QWERTY123456'],
      [`\0${NEW}`, `\0${NEW}`],
      ['x'.repeat(201), 'x'.repeat(201)],
    ] as const) {
      const rejected = await send(path, { password, again });
      expect(rejected.status).toBe(400);
      expect(await rejected.text()).toContain('role="alert"');
    }
    expect(await canLogIn(email, PASSWORD)).toBe(true);
    expect((await send(path)).status).toBe(200);
  });

  it('ends what the old password has opened, in the same moment', async () => {
    const { email, cookie, key } = await visitor(app);
    const path = await resetLink(email);
    expect((await gqlAs(app, cookie, '{ viewer { id } }')).status).toBe(200);
    await send(path);
    expect((await gqlAs(app, cookie, '{ viewer { id } }')).status).toBe(401);
    // Keys stay: they were not signed in to.
    expect((await app.gql('{ viewer { id } }', { key })).status).toBe(200);
  });

  it('is the only one of its account', async () => {
    const { email } = await person(app);
    const first = await resetLink(email);
    const second = await resetLink(email);
    expect((await app.fetch(first)).status).toBe(404);
    expect((await send(first)).status).toBe(404);
    expect((await send(second)).status).toBe(200);
  });

  it.each([
    ['the account is disabled', (email: string) => adminCommand(app, ['user', 'disable', email])],
    [
      'the account was disabled and enabled again',
      async (email: string) => {
        await adminCommand(app, ['user', 'disable', email]);
        await adminCommand(app, ['user', 'enable', email]);
      },
    ],
    [
      'the account gets another role',
      (email: string) => adminCommand(app, ['user', 'set-role', email, 'admin']),
    ],
    [
      'everything of the account was revoked',
      (email: string) => adminCommand(app, ['credential', 'revoke', '--all', '--user', email]),
    ],
    [
      'the account is deleted',
      (email: string) => adminCommand(app, ['user', 'delete', email, '--content', 'keep']),
    ],
    [
      'its e-mail is of another account',
      async (email: string) => {
        const account = await app.prisma.user.findUniqueOrThrow({ where: { emailKey: email } });
        await app.prisma.user.update({ where: { id: account.id }, data: { emailKey: `was-${email}` } });
        await adminCommand(app, ['user', 'create', '--name', 'B', '--email', email, '--password', PASSWORD]);
      },
    ],
    [
      'it has expired',
      (email: string) =>
        app.prisma.$executeRaw`UPDATE account_links SET expires_at = now() WHERE email_key = ${email}`,
    ],
    [
      'the owner has changed the password',
      async (email: string) => {
        const cookie = cookieOf(await login(app, { email, password: PASSWORD }));
        const change = `mutation { changePassword(currentPassword: "${PASSWORD}", newPassword: "${NEW}x") }`;
        expect((await gqlAs(app, cookie, change)).data).toEqual({ changePassword: true });
      },
    ],
  ])('is void once %s', async (_, happens) => {
    const { email } = await person(app);
    const path = await resetLink(email);
    await happens(email);
    expect((await app.fetch(path)).status).toBe(404);
    expect((await send(path)).status).toBe(404);
    expect(await canLogIn(email, NEW)).toBe(false);
  });

  it('is used by one of two who send it at once', async () => {
    const { email } = await person(app);
    const path = await resetLink(email);
    const passwords = Array.from({ length: 5 }, (_, number) => `${NEW} ${number}`);
    const responses = await Promise.all(
      passwords.map((password) => send(path, { password, again: password })),
    );
    const won = responses.flatMap(({ status }, index) => (status === 200 ? [passwords[index]] : []));
    expect(won).toHaveLength(1);
    expect(responses.filter(({ status }) => status === 404)).toHaveLength(4);
    for (const password of passwords) expect(await canLogIn(email, password)).toBe(password === won[0]);
  });

  it('leaves entries in the audit log, by whom it was made and used, without its token', async () => {
    const { email, id } = await person(app);
    const path = await resetLink(email);
    await send(path);
    const left = (await entries(app)).filter(({ detail }) => detail.account === id);
    expect(left.map(({ actor, via, action }) => [actor, via.split(':')[0], action])).toEqual([
      [null, 'command', 'user.create-reset-link'],
      [id, 'link', 'reset.use'],
    ]);
    expect(JSON.stringify(left)).not.toContain(new URLSearchParams(path.split('?')[1]).get('token'));
  });
});

describe('The page of a link', () => {
  it('can be framed by none and kept by none, and tells its address to none', async () => {
    const { email } = await person(app);
    const path = await resetLink(email);
    for (const response of [
      await app.fetch(path),
      await app.fetch('/account/password?token=none'),
      await send(path),
    ]) {
      expect(response.headers.get('referrer-policy')).toBe('no-referrer');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('x-frame-options')).toBe('DENY');
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(response.headers.get('location')).toBeNull();
      expect(response.headers.getSetCookie()).toEqual([]);
    }
    expect(app.logged.join('\n')).not.toContain(new URLSearchParams(path.split('?')[1]).get('token'));
  });

  it('keeps it to itself where it rejects, too', async () => {
    const { email } = await person(app);
    const path = await resetLink(email);
    const rejected: [number, Response][] = [
      [400, await app.fetch(path, { headers: { 'sec-fetch-dest': 'iframe' } })],
      [400, await send(path, {}, { 'content-type': 'application/json' })],
      [403, await send(path, {}, { 'sec-fetch-site': 'cross-site' })],
      [405, await app.fetch(path, { method: 'PUT' })],
      [413, await send(path, { again: 'x'.repeat(60_000) })],
    ];
    for (const [status, response] of rejected) {
      expect(response.status).toBe(status);
      expect(response.headers.get('referrer-policy'), String(status)).toBe('no-referrer');
      expect(response.headers.get('content-type')).toContain('text/html');
    }
    // An old browser says nothing of where a form comes from.
    const { 'sec-fetch-site': _site, ...old } = { 'sec-fetch-site': '', origin: 'null' };
    const form = new URLSearchParams({ password: NEW, again: NEW });
    expect((await app.fetch(path, { method: 'POST', headers: old, body: form })).status).toBe(200);
  });

  it('takes no form that a page of another site sends', async () => {
    const { email } = await person(app);
    const path = await resetLink(email);
    for (const site of ['cross-site', 'same-site'])
      expect((await send(path, {}, { 'sec-fetch-site': site })).status).toBe(403);
    expect((await app.fetch(path, { headers: { 'sec-fetch-dest': 'iframe' } })).status).toBe(400);
    expect((await send(path)).status).toBe(200);
  });

  it('does not believe the Host of a request', async () => {
    const { email } = await person(app);
    const path = await resetLink(email);
    const page = await app.fetch(path, {
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
    });
    expect(await page.text()).not.toContain('evil.example');
  });
});
