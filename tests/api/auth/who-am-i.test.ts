import { describe, expect, it } from 'vitest';
import { disableAccount } from '../../../src/auth/revocation.ts';
import { sessionRevocation } from '../../../src/auth/sessions.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { cookieOf, login, PASSWORD, person, visitor } from '../../support/credentials/session.ts';

const get = (app: Pick<TestApp, 'fetch'>, headers: Record<string, string> = {}) =>
  app.fetch('/login', { headers });
const NOBODY = { user: null };

describe('GET /login', () => {
  const app = useApp({ settings: { CORS_ORIGINS: 'https://app.example' } });

  it('answers with the account of the session, as the login did', async () => {
    const { email } = await person(app, { name: 'Ada' });
    const loggedIn = await login(app, { email, password: PASSWORD });
    const response = await get(app, { cookie: cookieOf(loggedIn) });
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual(await loggedIn.json());
  });

  it.each<[string, () => Promise<Record<string, string>>]>([
    ['without a cookie', async () => ({})],
    ['with a cookie that nobody issued', async () => ({ cookie: `session_id=${'x'.repeat(43)}` })],
    ['with a cookie of another form', async () => ({ cookie: 'session_id=x' })],
    ['with two cookies', async () => ({ cookie: `session_id=x; ${(await visitor(app)).cookie}` })],
    [
      'with a session that has ended',
      async () => {
        const { id, cookie } = await visitor(app);
        await app.database.query(sessionRevocation.all, [[id]]);
        return { cookie };
      },
    ],
    [
      'with the session of a disabled account',
      async () => {
        const { id, cookie } = await visitor(app);
        await disableAccount(app.database, id);
        return { cookie };
      },
    ],
    [
      'with an API key, which is no session',
      async () => ({ authorization: `Bearer ${(await visitor(app)).key}` }),
    ],
    ['with a wrong API key', async () => ({ authorization: 'Bearer cga_wrong' })],
  ])('%s answers 200 with nobody', async (_how, headersOf) => {
    const response = await get(app, await headersOf());
    expect([response.status, await response.json()]).toEqual([200, NOBODY]);
  });

  it('has the browser forget a cookie that is good for nothing', async () => {
    const response = await get(app, { cookie: `session_id=${'x'.repeat(43)}` });
    expect(response.headers.get('set-cookie')).toMatch(/^session_id=; .*Max-Age=0/);
  });

  it('looks at the cookie alone, whatever else is sent', async () => {
    const { id, cookie } = await visitor(app);
    const { key } = await app.account();
    const response = await get(app, { cookie, authorization: `Bearer ${key}` });
    expect(((await response.json()) as { user: { id: string } }).user.id).toBe(id);
  });

  it('can be read by the pages of CORS_ORIGINS, and by no others', async () => {
    const { cookie } = await visitor(app);
    const allowed = await get(app, { cookie, origin: 'https://app.example' });
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(allowed.headers.get('access-control-allow-credentials')).toBe('true');
    const other = await get(app, { cookie, origin: 'https://evil.example' });
    expect([...other.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });

  it('answers HEAD too', async () => {
    const response = await app.fetch('/login', { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });
});

describe('GET /login counts', () => {
  const app = useApp({
    settings: { RATE_LIMIT_BURST: '4', RATE_LIMIT_PER_SECOND: '0.001' },
  });

  it('as a request of the address, or of whoever is logged in', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await get(app)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429]);
  });
});

describe('GET /login does not count', () => {
  const app = useApp({ settings: { AUTH_FAILURE_BURST: '2' } });

  it('a cookie that is good for nothing as a failed credential: visitors who come back have one', async () => {
    const { key } = await app.account();
    for (let i = 0; i < 4; i += 1) await get(app, { cookie: `session_id=${String(i).repeat(43)}` });
    const wrong = await app.gql('{ posts { id } }', { key: `${key}x` });
    expect([wrong.status, wrong.errors?.[0]?.extensions.code]).toEqual([401, 'UNAUTHENTICATED']);
  });
});
