import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  askToken,
  authorizeUrl,
  basic,
  oauthClient,
  PKCE,
  postForm,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { useSocket } from '../../support/socket.ts';

const ALLOWED = 'https://app.example.com';
const app = useApp({ settings: { CORS_ORIGINS: ALLOWED } });
const socket = useSocket(app);
const GRANT = { grant_type: 'client_credentials' };

let client: TestClient;
beforeAll(async () => {
  client = await oauthClient(app, { owner: await app.account(), grants: ['client_credentials'] });
});

describe('OAuth over a socket', () => {
  it.each([
    ['HEAD', '/oauth/jwks', 200],
    ['HEAD', '/.well-known/oauth-authorization-server', 200],
    ['GET', '/oauth', 404],
    ['GET', '/oauth/', 404],
    ['GET', '/oauth/nothing', 404],
    ['POST', '/oauth/token/', 404],
    ['GET', '/oauth/me', 404],
    ['POST', '/oauth/request', 404],
    ['GET', '/oauth/authorize/unknown', 404],
    ['GET', '/oauth/interaction/unknown', 400],
    ['POST', '/oauth/interaction/unknown/login', 400],
    ['GET', '/oauth/interaction/unknown/more/of/it', 404],
    ['GET', '/oauth/%00', 404],
    ['GET', '/.well-known/webfinger', 404],
  ])('%s %s is %i, in OAuth’s form or a page', async (method, path, status) => {
    const response = await socket.fetch(path, { method });
    expect(response.status).toBe(status);
    expect(response.headers.get('x-request-id')).toBeTruthy();
    const text = await response.text();
    if (method === 'HEAD' || status < 400 || path.endsWith('webfinger')) return;
    if (response.headers.get('content-type')?.startsWith('text/html')) expect(text).toContain('<h1>');
    else
      expect(JSON.parse(text)).toEqual({ error: 'invalid_request', error_description: expect.any(String) });
  });

  it('takes forms and nothing else, of a size that makes sense', async () => {
    for (const [type, body] of [
      ['application/json', '{"grant_type":"client_credentials"}'],
      ['text/plain', 'grant_type=client_credentials'],
      ['multipart/form-data; boundary=x', '--x--'],
    ] as const) {
      const response = await socket.fetch('/oauth/token', {
        method: 'POST',
        headers: { 'content-type': type, ...basic(client) },
        body,
      });
      expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
        400,
        'invalid_request',
      ]);
    }
    for (const length of [60_000, 300_000])
      expect(
        await postForm(socket, '/oauth/token', { ...GRANT, x: 'x'.repeat(length) }, basic(client)),
      ).toMatchObject({
        status: 413,
        body: { error: 'invalid_request' },
      });
    expect((await postForm(socket, '/oauth/token', '', basic(client))).body.error).toBe('invalid_request');
  });

  it('keeps a request id and logs neither what is asked nor what is answered', async () => {
    const { headers, body } = await postForm(
      socket,
      '/oauth/token',
      { ...GRANT, client_id: client.id, client_secret: client.secret },
      { 'x-request-id': 'of-this-test' },
    );
    expect(headers.get('x-request-id')).toBe('of-this-test');
    const line = app.logged.find((logged) => logged.includes('of-this-test')) ?? '';
    expect(JSON.parse(line)).toMatchObject({ path: '/oauth/token', status: 200 });
    expect(line).not.toContain(body.access_token);
    expect(line).not.toContain(client.secret);
    await socket.fetch('/oauth/interaction/a-name-that-opens');
    expect(app.logged.join('')).not.toContain('a-name-that-opens');
    const metrics = await (await socket.fetch('/metrics')).text();
    expect(metrics).toMatch(/content_graph_http_requests_total\{route="\/oauth\/token",status="200"\}/);
    expect(metrics).toMatch(
      /content_graph_http_requests_total\{route="\/oauth\/interaction\/:uid",status="400"\}/,
    );
  });
});

describe('CORS of OAuth', () => {
  const cors = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'));

  it('is for the origins of the settings, and for no page', async () => {
    const endpoints = ['/oauth/jwks', '/.well-known/oauth-authorization-server'];
    for (const path of endpoints) {
      const good = await app.fetch(path, { headers: { origin: ALLOWED } });
      expect(good.headers.get('access-control-allow-origin')).toBe(ALLOWED);
      const bad = await app.fetch(path, { headers: { origin: 'https://evil.example' } });
      expect([bad.status, cors(bad.headers)]).toEqual([200, []]);
    }
    for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/introspect']) {
      const good = await postForm(app, path, GRANT, { ...basic(client), origin: ALLOWED });
      expect(good.headers.get('access-control-allow-origin')).toBe(ALLOWED);
      const bad = await postForm(app, path, GRANT, { ...basic(client), origin: 'https://evil.example' });
      expect(cors(bad.headers)).toEqual([]);
    }
    const page = await app.fetch(authorizeUrl(client, { challenge: PKCE().challenge }), {
      headers: { origin: ALLOWED },
    });
    expect(cors(page.headers)).toEqual([]);
  });
});

describe('POST /oauth/token', () => {
  const strict = useApp({
    settings: {
      RATE_LIMIT_BURST: '3',
      RATE_LIMIT_PER_SECOND: '0.001',
      AUTH_FAILURE_BURST: '2',
      AUTH_FAILURE_REFILL_SECONDS: '3600',
    },
  });

  it('takes a token of the address, and says so; an empty bucket is 429', async () => {
    const owner = await strict.account();
    const own = await oauthClient(strict, { owner, grants: ['client_credentials'] });
    const remaining: (string | null)[] = [];
    for (let i = 0; i < 3; i += 1) {
      const { status, headers } = await askToken(strict, own, GRANT);
      expect(status).toBe(200);
      remaining.push(headers.get('x-ratelimit-remaining'));
      expect(headers.get('x-ratelimit-limit')).toBe('3');
      expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000);
      expect(headers.get('ratelimit')).toMatch(/^"default";r=\d+;t=\d+$/);
      expect(headers.get('ratelimit-policy')).toBe('"default";q=3;w=3000');
    }
    expect(remaining).toEqual(['2', '1', '0']);
    const { status, headers, body } = await askToken(strict, own, GRANT);
    expect([status, body.error]).toEqual([429, 'temporarily_unavailable']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    // A token that was given has a bucket of its own: that of the account and the client.
  });
});

describe('failed client authentications', () => {
  const strict = useApp({ settings: { AUTH_FAILURE_BURST: '2', AUTH_FAILURE_REFILL_SECONDS: '3600' } });

  it('count as failed credentials of the address', async () => {
    const own = await oauthClient(strict, {
      owner: await strict.account(),
      grants: ['client_credentials'],
    });
    const wrong = { ...own, secret: 'made up' };
    // Who shows nothing guesses nothing.
    for (const _ of [1, 2, 3]) expect((await postForm(strict, '/oauth/token', GRANT)).status).toBe(401);
    expect((await askToken(strict, wrong, GRANT)).status).toBe(401);
    expect((await postForm(strict, '/oauth/revoke', { token: 'x' }, basic(wrong))).status).toBe(401);
    const { status, body, headers } = await postForm(
      strict,
      '/oauth/introspect',
      { token: 'x' },
      basic(wrong),
    );
    expect([status, body.error]).toEqual([429, 'temporarily_unavailable']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await askToken(strict, own, GRANT)).status).toBe(200);
  });
});

describe('an access token', () => {
  it('has a bucket of its account and client, and the client’s own limits', async () => {
    const owner = await app.account();
    const limited = await oauthClient(app, { owner, grants: ['client_credentials'], burst: 2 });
    const { body } = await askToken(app, limited, GRANT);
    const { body: more } = await askToken(app, limited, GRANT);
    const ask = async (token: string) => (await app.gql('{ viewer { id } }', { key: token })).headers;
    expect((await ask(body.access_token)).get('x-ratelimit-limit')).toBe('2');
    expect((await ask(more.access_token)).get('x-ratelimit-limit')).toBe('2');
    expect((await ask(owner.key)).get('x-ratelimit-limit')).toBe('1000000');
  });
});

/** RFC 6749 section 5.2: without authentication, or with another scheme's, the client is invalid and told how to be valid. */
describe('a client that does not authenticate', () => {
  const PATHS = ['/oauth/token', '/oauth/revoke', '/oauth/introspect'];
  const ways: [string, Record<string, string>][] = [
    ['nothing', {}],
    ['another scheme', { authorization: 'Bearer x' }],
    ['what is not base64', { authorization: 'Basic %%%' }],
    ['no colon', { authorization: `Basic ${btoa('name')}` }],
    ['no secret', { authorization: `Basic ${btoa('name:')}` }],
    ['a wrong escape', { authorization: `Basic ${btoa('%zz:secret')}` }],
  ];

  it.each(ways)('is told so: %s', async (_name, headers) => {
    const form = { ...GRANT, token: 'x' };
    for (const path of PATHS) {
      const { status, body, headers: responded } = await postForm(app, path, form, headers);
      expect([path, status, body.error]).toEqual([path, 401, 'invalid_client']);
      expect(responded.get('www-authenticate')).toMatch(/^Basic realm="http/);
    }
  });
});
