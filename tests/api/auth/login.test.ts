import { describe, expect, it } from 'vitest';
import { disableAccount } from '../../../src/auth/revocation.ts';
import { ORIGIN, useApp } from '../../support/app.ts';
import { cookieOf, gqlAs, login, PASSWORD, person, visitor } from '../../support/credentials/session.ts';
import { dataOf } from '../../support/rejection.ts';

const app = useApp();
const VIEWER = '{ viewer { id } }';

async function errorOf(response: Response) {
  const { errors } = (await response.json()) as {
    errors: { message: string; extensions: { code: string } }[];
  };
  return { status: response.status, code: errors[0]?.extensions.code, message: errors[0]?.message };
}

describe('POST /login', () => {
  it('answers with the account and the end of the session, and sets the cookie exactly as promised', async () => {
    const { id, email } = await person(app, { name: 'Ada' });
    const before = Date.now();
    const response = await login(app, { email, password: PASSWORD });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(response.headers.get('cache-control')).toBe('no-store');
    const body = (await response.json()) as { user: unknown; expiresAt: string };
    expect(body).toEqual({ user: { id, name: 'Ada', email }, expiresAt: expect.any(String) });
    const days = (Date.parse(body.expiresAt) - before) / 86_400_000;
    expect(days).toBeCloseTo(30, 2);
    const [cookie = '', ...others] = response.headers.getSetCookie();
    expect(others).toEqual([]);
    const [pair = '', ...attributes] = cookie.split('; ');
    expect(pair).toMatch(/^session_id=[\w-]{43}$/);
    expect(attributes.sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure']);
  });

  it('gives a session with every scope of the role', async () => {
    const { id, cookie } = await visitor(app);
    expect(dataOf(await gqlAs(app, cookie, VIEWER)).viewer.id).toBe(id);
    const created = await gqlAs(
      app,
      cookie,
      'mutation { createPost(title: "T", body: "B") { author { id } } }',
    );
    expect(dataOf(created).createPost.author.id).toBe(id);
  });

  it('takes the e-mail in any case', async () => {
    const { email } = await person(app);
    expect((await login(app, { email: email.toUpperCase(), password: PASSWORD })).status).toBe(200);
  });

  it('rejects a wrong password, an unknown e-mail, an account without password and a disabled one in the same words', async () => {
    const { email } = await person(app);
    const withoutPassword = await app.account();
    const disabled = await person(app);
    await disableAccount(app.database, disabled.id);
    const rejections = await Promise.all(
      [
        { email, password: 'not the password at all' },
        { email: 'nobody@example.com', password: PASSWORD },
        { email: 'nobody\0@example.com', password: PASSWORD },
        { email: withoutPassword.email, password: PASSWORD },
        { email: disabled.email, password: PASSWORD },
      ].map((body) => login(app, body)),
    );
    for (const rejection of rejections) {
      expect(rejection.headers.get('www-authenticate')).not.toBeNull();
      expect(rejection.headers.getSetCookie()).toEqual([]);
    }
    const errors = await Promise.all(rejections.map(errorOf));
    expect(new Set(errors.map((error) => JSON.stringify(error))).size).toBe(1);
    expect(errors[0]).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
  });

  it('ignores credentials that are sent along, good or bad', async () => {
    const { email } = await person(app);
    const { key } = await app.account();
    for (const authorization of [`Bearer ${key}`, 'Bearer nonsense', 'Basic eDp5'])
      expect((await login(app, { email, password: PASSWORD }, { authorization })).status).toBe(200);
  });

  it('never adopts a session id that the client sends (session fixation)', async () => {
    const { email } = await person(app);
    const planted = `session_id=${'A'.repeat(43)}`;
    const cookie = cookieOf(await login(app, { email, password: PASSWORD }, { cookie: planted }));
    expect(cookie).not.toBe(planted);
    expect((await gqlAs(app, planted, VIEWER)).status).toBe(401);
    const again = cookieOf(await login(app, { email, password: PASSWORD }, { cookie }));
    expect(again).not.toBe(cookie);
  });

  it.each([
    ['no JSON', '{', 400],
    ['a JSON text that is no object', '[]', 400],
    ['a password that is no string', { email: 'a@example.com', password: 1 }, 400],
    ['no e-mail', { password: PASSWORD }, 400],
    ['a body beyond 1 MiB', JSON.stringify({ email: 'a', password: 'x'.repeat(1_048_576) }), 413],
  ])('rejects %s', async (_what, body, status) => {
    expect(await errorOf(await login(app, body))).toMatchObject({ status, code: 'BAD_REQUEST' });
  });

  it('takes JSON only, so that no form of another site can log its visitor in', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x'])
      expect(await errorOf(await login(app, '{}', { 'content-type': type }))).toMatchObject({ status: 415 });
  });

  it('takes a token of the address’s bucket, and says so', async () => {
    const response = await login(app, '{}');
    expect(response.headers.has('x-ratelimit-remaining')).toBe(true);
  });

  it('lets many logins of one address through or sends them away with 429, and never fails otherwise', async () => {
    const { email } = await person(app);
    const all = await Promise.all(
      Array.from({ length: 60 }, () => login(app, { email, password: PASSWORD })),
    );
    const statuses = all.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    for (const busy of all.filter(({ status }) => status === 429))
      expect(busy.headers.get('retry-after')).not.toBeNull();
  });
});

describe('POST /login from a browser', () => {
  const settings = {
    CORS_ORIGINS: 'https://app.example.com',
    AUTH_FAILURE_BURST: '1',
    AUTH_FAILURE_REFILL_SECONDS: '3600',
  };
  const own = useApp({ settings });

  it.each([
    ['a page of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    [
      'a page of another origin of the site',
      { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' },
    ],
    ['a frame without an origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['what says no origin', { 'sec-fetch-site': 'cross-site' }],
    ['what says it is of the same site', { 'sec-fetch-site': 'same-site' }],
    ['a browser without Fetch Metadata', { origin: 'https://evil.example' }],
    ['an origin that looks like an allowed one', { origin: 'https://app.example.com.evil.example' }],
  ])('is 403 from %s, before a password is looked at', async (_who, headers) => {
    const { email } = await person(own);
    for (const password of ['wrong', 'wrong', 'wrong', PASSWORD]) {
      const response = await login(own, { email, password }, headers);
      expect(response.headers.getSetCookie()).toEqual([]);
      expect(await errorOf(response)).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    }
    // None of it counted as a failure, and what comes from nobody's page is let in.
    expect((await login(own, { email, password: PASSWORD })).status).toBe(200);
  });

  it.each([
    ['the own pages', { origin: ORIGIN, 'sec-fetch-site': 'same-origin' }],
    ['an allowed origin', { origin: 'https://app.example.com', 'sec-fetch-site': 'cross-site' }],
    ['a person by hand', { 'sec-fetch-site': 'none' }],
    ['no browser', {}],
  ])('is let in from %s', async (_who, headers) => {
    const { email } = await person(own);
    expect((await login(own, { email, password: PASSWORD }, headers)).status).toBe(200);
  });
});

describe('POST /logout', () => {
  const logout = (headers: Record<string, string>) => app.fetch('/logout', { method: 'POST', headers });

  it('ends the session and takes the cookie away', async () => {
    const { cookie } = await visitor(app);
    const response = await logout({ cookie });
    expect(response.status).toBe(204);
    expect(response.headers.getSetCookie()).toEqual([
      'session_id=; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=0',
    ]);
    expect((await gqlAs(app, cookie, VIEWER)).status).toBe(401);
  });

  it('ends this session and no other', async () => {
    const { email, cookie } = await visitor(app);
    const other = cookieOf(await login(app, { email, password: PASSWORD }));
    await logout({ cookie });
    expect((await gqlAs(app, other, VIEWER)).status).toBe(200);
  });

  it('does no harm where there is no session (any more)', async () => {
    const { cookie } = await visitor(app);
    await logout({ cookie });
    expect((await logout({ cookie })).status).toBe(204);
    expect((await logout({})).status).toBe(204);
  });
});
