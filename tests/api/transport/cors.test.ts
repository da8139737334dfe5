import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { useSocket } from '../../support/socket.ts';

const NAMED = 'https://app.example.com';
const OTHERS = [
  'https://evil.example.com',
  'https://app.example.com.evil.example',
  'http://app.example.com',
  'https://app.example.com:8443',
  'null',
];

function corsHeaders(headers: Headers): string[] {
  return [...headers.keys()].filter((name) => name.startsWith('access-control-'));
}

const preflight = (origin: string): RequestInit => ({
  method: 'OPTIONS',
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,idempotency-key,last-event-id',
  },
});

describe('CORS_ORIGINS', () => {
  const app = useApp({ settings: { CORS_ORIGINS: `${NAMED}, https://other.example.com` } });
  const socket = useSocket(app);
  let authorization = '';
  beforeAll(async () => {
    authorization = `Bearer ${(await app.account()).key}`;
  });
  const call = (headers: Record<string, string>) =>
    app.fetch('/graphql?query={viewer{id}}', { headers: { authorization, ...headers } });

  it('lets a named origin read the response, with credentials', async () => {
    const { status, headers } = await call({ origin: NAMED });
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe(NAMED);
    expect(headers.get('access-control-allow-credentials')).toBe('true');
  });

  it('exposes ETag, WWW-Authenticate and the headers for rate limits, request ids, event ids, idempotency, session warnings and deprecation', async () => {
    const { headers } = await call({ origin: NAMED });
    const exposed = (headers.get('access-control-expose-headers') ?? '').toLowerCase().split(/,\s*/);
    expect(exposed).toEqual(
      expect.arrayContaining([
        'etag',
        'x-request-id',
        'x-event-id',
        'x-ratelimit-limit',
        'x-ratelimit-remaining',
        'x-ratelimit-reset',
        'ratelimit',
        'ratelimit-policy',
        'retry-after',
        'www-authenticate',
        'idempotency-replayed',
        'x-session-warning',
        'deprecation',
        'sunset',
      ]),
    );
  });

  it('lets a named origin read a rejection too', async () => {
    const { status, headers } = await app.fetch('/graphql', { method: 'POST', headers: { origin: NAMED } });
    expect(status).toBe(401);
    expect(headers.get('access-control-allow-origin')).toBe(NAMED);
  });

  it('answers the preflight of a named origin without credentials', async () => {
    const { status, headers } = await app.fetch('/graphql', preflight(NAMED));
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe(NAMED);
    expect(headers.get('access-control-allow-credentials')).toBe('true');
    expect(headers.get('access-control-allow-methods')).toMatch(/\bPOST\b/);
    expect(headers.get('access-control-allow-headers')?.toLowerCase()).toMatch(
      /authorization.*content-type.*idempotency-key.*last-event-id/,
    );
  });

  it('lets browsers keep the response for two hours, for all that the service’s clients send', async () => {
    const asking = { 'access-control-request-headers': 'content-type,x-of-a-proxy' };
    const init = preflight(NAMED);
    const { headers } = await app.fetch('/graphql', { ...init, headers: { ...init.headers, ...asking } });
    expect(headers.get('access-control-max-age')).toBe('7200');
    expect(headers.get('access-control-allow-headers')?.split(', ')).toEqual([
      'authorization',
      'content-type',
      'idempotency-key',
      'if-none-match',
      'last-event-id',
      'x-show-cost',
      'x-request-id',
      'x-show-deprecations',
      'x-show-event-id',
      'x-of-a-proxy',
    ]);
  });

  it.each([
    ['by the fast path', '/graphql'],
    ['through Yoga', '/graphql?"'],
  ])('answers a preflight %s without a body or its length (RFC 9110 section 8.6)', async (_way, target) => {
    const fields = `Host: 127.0.0.1\r\nOrigin: ${NAMED}\r\nAccess-Control-Request-Method: POST`;
    const response = await socket.send(
      `OPTIONS ${target} HTTP/1.1\r\n${fields}\r\nConnection: close\r\n\r\n`,
    );
    expect(response).toMatch(/^HTTP\/1\.1 204 /);
    expect(response).not.toMatch(/^(content-length|transfer-encoding):/im);
    expect(response).toMatch(/\r\n\r\n$/);
  });

  it('takes no token for a preflight', async () => {
    const remaining = async () =>
      Number((await app.fetch('/graphql', { method: 'POST' })).headers.get('x-ratelimit-remaining'));
    const before = await remaining();
    for (let i = 0; i < 20; i += 1) await app.fetch('/graphql', preflight(NAMED));
    expect(await remaining()).toBeGreaterThanOrEqual(before - 1);
  });

  it.each(OTHERS)('gives %s no CORS header at all', async (origin) => {
    expect(corsHeaders((await call({ origin })).headers)).toEqual([]);
    expect(corsHeaders((await app.fetch('/graphql', preflight(origin))).headers)).toEqual([]);
  });

  it('says to caches that answers differ by origin, whoever asks, on every route', async () => {
    const names = (headers: Headers) =>
      (headers.get('vary') ?? '')
        .toLowerCase()
        .split(/,\s*/)
        .filter((name) => name === 'origin');
    const body = JSON.stringify({ query: '{ viewer { id } }' });
    const requests: [string, RequestInit][] = [
      ['/graphql?query={viewer{id}}', {}],
      ['/graphql', { method: 'POST', body, headers: { 'content-type': 'application/json', authorization } }],
      ['/graphql', { method: 'POST' }],
      ['/login', { method: 'POST' }],
      ['/health/live', {}],
      ['/oauth/jwks', {}],
      ['/nowhere', {}],
    ];
    for (const [path, init] of requests)
      for (const origin of [undefined, NAMED, ...OTHERS]) {
        const headers = { ...(init.headers as object), ...(origin === undefined ? {} : { origin }) };
        const response = await app.fetch(path, { ...init, headers });
        expect([path, origin, names(response.headers)]).toEqual([path, origin, ['origin']]);
      }
    for (const origin of [NAMED, ...OTHERS])
      expect(names((await app.fetch('/graphql', preflight(origin))).headers)).toEqual(['origin']);
  });

  it('gives a request without an origin no CORS header', async () => {
    expect(corsHeaders((await call({})).headers)).toEqual([]);
  });
});

describe('without CORS_ORIGINS', () => {
  const app = useApp();

  it('no origin gets a CORS header, not even the own one', async () => {
    for (const origin of [NAMED, 'http://127.0.0.1:4000', ...OTHERS]) {
      const response = await app.fetch('/graphql?query={__typename}', { headers: { origin } });
      expect(response.status).toBe(200);
      expect(corsHeaders(response.headers)).toEqual([]);
      expect(corsHeaders((await app.fetch('/graphql', preflight(origin))).headers)).toEqual([]);
    }
  });
});
