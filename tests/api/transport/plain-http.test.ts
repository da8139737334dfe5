import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { authorizeUrl, oauthClient, PKCE } from '../../support/credentials/oauth.ts';
import { PASSWORD, person, visitor } from '../../support/credentials/session.ts';

const PROXY = '10.0.0.1';
const CLIENT = '203.0.113.7';
const METRICS_TOKEN = 'a-token-of-24-characters';
const app = useApp({
  settings: {
    NODE_ENV: 'production',
    SECRET_KEY: 'bEyV0mZk3Q1n8rTqXw5LhD2uGs7PoCfA',
    PUBLIC_URL: 'https://api.example.com',
    TRUST_PROXY: PROXY,
    METRICS_TOKEN,
  },
});
const development = useApp();

/** A request as the socket's other end `peer` brings it. */
function from(peer: string, path: string, headers: Record<string, string> = {}, body?: unknown) {
  const request = new Request(`http://api.example.com${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return app.app.fetch(request, { peerAddress: peer });
}
const VIEWER = `/graphql?query=${encodeURIComponent('{ viewer { id } }')}`;
/** The message names the header that the proxy does not send, and does not claim that anybody could read along. */
const UNSAID = /^(?!.*intercepted).*X-Forwarded-Proto/;
const TLS = { 'x-forwarded-proto': 'https', 'x-forwarded-for': CLIENT };

async function rejected(response: Response, reason = /intercepted/): Promise<void> {
  expect(response.status).toBe(403);
  expect(await response.json()).toMatchObject({
    errors: [{ message: expect.stringMatching(reason), extensions: { code: 'FORBIDDEN' } }],
  });
}

describe('credentials over plain HTTP in production', () => {
  it('are rejected, each kind of them, and not looked at', async () => {
    const { key, cookie, email } = await visitor(app);
    for (const presented of [key, 'nonsense'])
      await rejected(await from(CLIENT, VIEWER, { authorization: `Bearer ${presented}` }));
    await rejected(await from(CLIENT, `${VIEWER}&api_key=${key}`));
    await rejected(await from(CLIENT, VIEWER, { cookie }));
    const login = await from(CLIENT, '/login', {}, { email, password: PASSWORD });
    expect(login.headers.getSetCookie()).toEqual([]);
    await rejected(login);
    await rejected(await from(CLIENT, '/logout', { cookie }, {}));
  });

  it('are rejected with the token for metrics as well', async () => {
    const authorization = `Bearer ${METRICS_TOKEN}`;
    await rejected(await from(CLIENT, '/metrics', { authorization }));
    expect((await from(PROXY, '/metrics', { ...TLS, authorization })).status).toBe(200);
  });

  it('are taken over TLS, as a trusted proxy says', async () => {
    const { key, cookie, email } = await visitor(app);
    expect((await from(PROXY, VIEWER, { ...TLS, authorization: `Bearer ${key}` })).status).toBe(200);
    expect((await from(PROXY, VIEWER, { ...TLS, cookie })).status).toBe(200);
    expect((await from(PROXY, '/login', TLS, { email, password: PASSWORD })).status).toBe(200);
  });

  it('are rejected where anybody else says so, or the proxy says otherwise, or nothing', async () => {
    const { key } = await app.account();
    const authorization = `Bearer ${key}`;
    await rejected(await from(CLIENT, VIEWER, { ...TLS, authorization }));
    for (const proto of ['http', 'https, http'])
      await rejected(await from(PROXY, VIEWER, { ...TLS, 'x-forwarded-proto': proto, authorization }));
    for (const fields of [{ 'x-forwarded-proto': '' }, {}])
      await rejected(
        await from(PROXY, VIEWER, { 'x-forwarded-for': CLIENT, ...fields, authorization }),
        UNSAID,
      );
  });

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])(
    'are taken from this machine itself (%s)',
    async (peer) => {
      const { key } = await app.account();
      expect((await from(peer, VIEWER, { authorization: `Bearer ${key}` })).status).toBe(200);
    },
  );

  it('a request without any is answered as ever', async () => {
    expect((await from(CLIENT, VIEWER)).status).toBe(401);
    expect((await from(CLIENT, '/health/live')).status).toBe(200);
  });
});

/** RFC 6797 section 7.2: over TLS and no other way. */
describe('Strict-Transport-Security', () => {
  const HSTS = 'strict-transport-security';
  const PATHS = ['/health/live', '/graphql', '/login', '/oauth/authorize', '/oauth/jwks', '/nowhere'];

  it('is said in every response that goes over TLS', async () => {
    for (const path of PATHS)
      expect((await from(PROXY, path, TLS)).headers.get(HSTS), path).toMatch(/^max-age=31536000$/);
    const { key } = await app.account();
    const posted = await from(
      PROXY,
      '/graphql',
      { ...TLS, authorization: `Bearer ${key}` },
      { query: '{ __typename }' },
    );
    expect([posted.status, posted.headers.get(HSTS)]).toEqual([200, 'max-age=31536000']);
    const preflight = new Request('http://api.example.com/graphql', {
      method: 'OPTIONS',
      headers: { ...TLS, origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
    });
    expect((await app.app.fetch(preflight, { peerAddress: PROXY })).headers.get(HSTS)).not.toBeNull();
  });

  it('is said in no other', async () => {
    for (const path of PATHS) {
      expect((await from(CLIENT, path)).headers.get(HSTS), path).toBeNull();
      expect((await from(CLIENT, path, TLS)).headers.get(HSTS), path).toBeNull();
      expect(
        (await from(PROXY, path, { ...TLS, 'x-forwarded-proto': 'http' })).headers.get(HSTS),
        path,
      ).toBeNull();
    }
  });
});

/** Contract section 2: nobody but the peers of TRUST_PROXY says where a request comes from, or that it is local. */
describe('a request that a proxy on this machine passes on', () => {
  const forgetful = useApp({
    settings: {
      NODE_ENV: 'production',
      SECRET_KEY: 'bEyV0mZk3Q1n8rTqXw5LhD2uGs7PoCfA',
      PUBLIC_URL: 'https://api.example.com',
      METRICS_TOKEN,
    },
  });
  const ask = (app: typeof forgetful, path: string, headers: Record<string, string>, body?: unknown) =>
    app.app.fetch(
      new Request(`http://api.example.com${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
      { peerAddress: '127.0.0.1' },
    );
  const FORWARDED: [string, Record<string, string>][] = [
    ['X-Forwarded-For', { 'x-forwarded-for': CLIENT }],
    ['X-Forwarded-For of this machine', { 'x-forwarded-for': '127.0.0.1' }],
    ['X-Forwarded-Proto http', { 'x-forwarded-proto': 'http' }],
    ['X-Forwarded-Proto https', { 'x-forwarded-proto': 'https' }],
    ['X-Forwarded-Host', { 'x-forwarded-host': 'api.example.com' }],
    ['any X-Forwarded-*', { 'x-forwarded-ssl': 'off' }],
    ['Forwarded', { forwarded: `for=${CLIENT};proto=http` }],
    ['X-Real-IP', { 'x-real-ip': CLIENT }],
  ];

  it.each(FORWARDED)('is not local without TRUST_PROXY: %s', async (_name, headers) => {
    const { key, cookie, email } = await visitor(forgetful);
    const fails = async (path: string, fields: Record<string, string>, body?: unknown) =>
      rejected(await ask(forgetful, path, { ...headers, ...fields }, body), /intercepted.*TRUST_PROXY/);
    await fails('/login', {}, { email, password: PASSWORD });
    await fails(VIEWER, { authorization: `Bearer ${key}` });
    await fails(VIEWER, { cookie });
    await fails('/metrics', { authorization: `Bearer ${METRICS_TOKEN}` });
    expect((await ask(forgetful, '/metrics', headers)).status).toBe(401);
  });

  it('is said once in the log, with the setting that it wants', async () => {
    for (const [, headers] of FORWARDED) await ask(forgetful, '/health/live', headers);
    const lines = forgetful.logged.filter((line) => line.includes('TRUST_PROXY'));
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 40, peer: '127.0.0.1' }),
    ]);
  });

  it('is not local with TRUST_PROXY either, and over TLS where the proxy says so', async () => {
    const { key } = await app.account();
    const authorization = `Bearer ${key}`;
    await rejected(await from(PROXY, VIEWER, { forwarded: 'for=127.0.0.1', authorization }), UNSAID);
    await rejected(await from(PROXY, VIEWER, { 'x-forwarded-for': '127.0.0.1', authorization }), UNSAID);
    expect((await from(PROXY, VIEWER, { 'x-forwarded-proto': 'https', authorization })).status).toBe(200);
  });
});

describe('credentials over plain HTTP in development', () => {
  it('are taken', async () => {
    const { key } = await person(development);
    const request = new Request(`http://api.example.com${VIEWER}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect((await development.app.fetch(request, { peerAddress: CLIENT })).status).toBe(200);
  });
});

describe('OAuth over plain HTTP in production', () => {
  it('is rejected in OAuth’s form or by a page, but for what is public', async () => {
    for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/introspect']) {
      const response = await from(CLIENT, path, {}, {});
      expect([response.status, await response.json()]).toEqual([
        403,
        { error: 'invalid_request', error_description: expect.stringContaining('HTTPS') },
      ]);
    }
    const page = await from(CLIENT, '/oauth/authorize?client_id=x');
    expect([page.status, await page.text()]).toEqual([403, expect.stringContaining('HTTPS')]);
    expect((await from(CLIENT, '/oauth/jwks')).status).toBe(200);
    const metadata = await (await from(CLIENT, '/.well-known/oauth-authorization-server')).json();
    expect(metadata).toMatchObject({ issuer: 'https://api.example.com' });
  });

  it('has cookies that go over TLS alone', async () => {
    const client = await oauthClient(app, { owner: await app.account() });
    const url = authorizeUrl(client, { challenge: PKCE().challenge });
    const begun = await from(PROXY, url, TLS);
    expect(begun.headers.getSetCookie().length).toBeGreaterThan(0);
    for (const cookie of begun.headers.getSetCookie())
      expect(cookie).toMatch(/^__Host-.*; Secure; SameSite=Lax$/);
  });
});
