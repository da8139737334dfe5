import { describe, expect, it } from 'vitest';
import { login } from '../support/credentials/session.ts';
import { deployment, fetchFrom, send, service, statusesIn } from './support/attacker.ts';
import { METRICS_TOKEN, PASSWORD } from './support/deployment.ts';

const { ada, forgetfulOrigin, grace, origin, plainOrigin, port } = deployment;
const HOST = new URL(origin).host;
const QUERY = '{"query":"{ viewer { email } }"}';
const VIEWER = `/graphql?query=${encodeURIComponent('{ viewer { email } }')}`;
const AS_ADA = `Authorization: Bearer ${ada.key}`;
const WAYS = ['nginx', 'service'] as const;

const head = (line: string, ...fields: string[]) => [line, `Host: ${HOST}`, ...fields, '', ''].join('\r\n');
/** A request that is not to be one: its id would come back. */
const HIDDEN = head('GET /health/live HTTP/1.1', 'X-Request-Id: smuggled', 'Connection: close');
/** Where the attack has left the connection open, this ends it. */
const LAST = head('GET /health/live HTTP/1.1', 'Connection: close');
const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const post = (body: string, ...fields: string[]) =>
  head('POST /graphql HTTP/1.1', AS_ADA, 'Content-Type: application/json', ...fields) + body;

/** Two parties that take the end of a request to be somewhere else (RFC 9112 section 11.2). */
const SMUGGLED: readonly (readonly [attack: string, rule: string, bytes: string])[] = [
  [
    'both lengths, chunked first',
    'RFC 9112 section 6.3',
    post(`0\r\n\r\n${HIDDEN}`, `Content-Length: ${5 + HIDDEN.length}`, 'Transfer-Encoding: chunked'),
  ],
  [
    'both lengths, the count first',
    'RFC 9112 section 6.3',
    post(chunked(HIDDEN), 'Transfer-Encoding: chunked', 'Content-Length: 4'),
  ],
  [
    'two counts',
    'RFC 9112 section 6.3',
    post(
      QUERY + HIDDEN,
      `Content-Length: ${QUERY.length}`,
      `Content-Length: ${QUERY.length + HIDDEN.length}`,
    ),
  ],
  [
    'a list of counts',
    'RFC 9112 section 6.3',
    post(QUERY + HIDDEN, `Content-Length: ${QUERY.length}, ${QUERY.length + HIDDEN.length}`),
  ],
  ['a count with a sign', 'RFC 9110 section 8.6', post(QUERY + HIDDEN, `Content-Length: +${QUERY.length}`)],
  [
    'a count in hexadecimal',
    'RFC 9110 section 8.6',
    post(QUERY + HIDDEN, `Content-Length: 0x${QUERY.length.toString(16)}`),
  ],
  ['a negative count', 'RFC 9110 section 8.6', post(QUERY + HIDDEN, 'Content-Length: -1')],
  ['another coding', 'RFC 9112 section 6.1', post(chunked(QUERY) + HIDDEN, 'Transfer-Encoding: xchunked')],
  [
    'chunked, but not last',
    'RFC 9112 section 6.3',
    post(chunked(QUERY) + HIDDEN, 'Transfer-Encoding: chunked, identity'),
  ],
  [
    'chunked twice',
    'RFC 9112 section 6.1',
    post(
      chunked(QUERY) + HIDDEN,
      'Transfer-Encoding: identity',
      'Transfer-Encoding: chunked',
      'Content-Length: 3',
    ),
  ],
  [
    'a space before the colon',
    'RFC 9112 section 5.1',
    post(chunked(QUERY) + HIDDEN, 'Transfer-Encoding : chunked'),
  ],
  [
    'a field on two lines',
    'RFC 9112 section 5.2',
    post(chunked(QUERY) + HIDDEN, 'Transfer-Encoding:\r\n chunked'),
  ],
  [
    'a carriage return in a field',
    'RFC 9112 section 2.2',
    post(QUERY, `X-A: b\rContent-Length: 0`, `Content-Length: ${QUERY.length}`) + HIDDEN,
  ],
  [
    'a NUL in a field',
    'RFC 9110 section 5.5',
    post(QUERY + HIDDEN, 'X-A: b\0c', `Content-Length: ${QUERY.length}`),
  ],
  [
    'a size that is none',
    'RFC 9112 section 7.1',
    post(`0x1\r\n{\r\n0\r\n\r\n${HIDDEN}`, 'Transfer-Encoding: chunked'),
  ],
  [
    'a size beyond what counts',
    'RFC 9112 section 7.1',
    post(`ffffffffffffffff1\r\n{\r\n0\r\n\r\n${HIDDEN}`, 'Transfer-Encoding: chunked'),
  ],
];

describe.each(WAYS)('a request inside another one is none, by %s', (way) => {
  it.each(SMUGGLED)('%s (%s)', async (_attack, _rule, bytes) => {
    const result = await send(way, bytes + LAST);
    expect(result).not.toContain('smuggled');
    expect(statusesIn(result).length).toBeGreaterThan(0);
    expect(statusesIn(result).filter((status) => status < 400).length).toBeLessThanOrEqual(2);
  });
});

describe.each(WAYS)('credentials are those of one request, by %s (RFC 9112 section 9.3.2)', (way) => {
  it('and not of the next on its connection', async () => {
    const result = await send(
      way,
      head(`GET ${VIEWER} HTTP/1.1`, AS_ADA) +
        head(`GET ${VIEWER} HTTP/1.1`) +
        head(`GET ${VIEWER} HTTP/1.1`, `Cookie: session_id=x`, 'Connection: close'),
    );
    expect(statusesIn(result)).toEqual([200, 401, 401]);
    expect(result.split(ada.email).length - 1).toBe(1);
  });
});

describe.each(WAYS)('a path has one spelling, by %s (contract: transport)', (way) => {
  it.each([
    '/./graphql',
    '/%2e/graphql',
    '/x/../login',
    '/health/../metrics',
    '//graphql',
    '/%67raphql',
    '/oauth/./token',
  ])('%s is not taken for another one', async (path) => {
    const result = await send(way, head(`GET ${path} HTTP/1.1`, AS_ADA, 'Connection: close'));
    expect(statusesIn(result)).toEqual([400]);
    expect(result).not.toContain(ada.email);
  });
});

describe.each(WAYS)('the host that a client names, by %s', (way) => {
  it('is there (RFC 9112 section 3.2)', async () => {
    const none = 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n';
    expect(statusesIn(await send(way, none))).toEqual([400]);
    const twice = head('GET /health/live HTTP/1.1', 'Host: evil.example', 'Connection: close');
    expect(statusesIn(await send(way, twice))).toEqual([400]);
    const markup = none.replace('\r\n', '\r\nHost: "><x>\r\n');
    expect(statusesIn(await send(way, markup))).toEqual([400]);
  });

  it('is not what addresses in answers begin with (RFC 8414 section 3.3)', async () => {
    const bytes =
      'GET /.well-known/oauth-authorization-server HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n\r\n';
    const result = await send(way, bytes);
    expect(statusesIn(result)).toEqual([200]);
    expect(result).toContain(`"issuer":"${origin}"`);
    expect(result).not.toContain('evil.example');
  });
});

describe('what is said of the way of a request (contract: transport)', () => {
  const GRACE = { email: grace.email, password: PASSWORD };
  const metrics = { authorization: `Bearer ${METRICS_TOKEN}` };
  const LIES: readonly (readonly [string, Record<string, string>])[] = [
    ['nothing', {}],
    ['TLS', { 'x-forwarded-proto': 'https' }],
    ['TLS, by the standard', { forwarded: 'proto=https;for=127.0.0.1' }],
    ['this machine', { 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1' }],
  ];

  it.each(LIES)('opens no metrics without their token: %s', async (_lie, headers) => {
    for (const where of [origin, plainOrigin, forgetfulOrigin])
      expect((await fetchFrom(where, '/metrics', { headers })).status).toBe(401);
    expect((await service.fetch('/metrics', { headers: { ...headers, ...metrics } })).status).toBe(200);
  });

  it('is believed of the proxy that TRUST_PROXY names', async () => {
    expect((await login(service, GRACE)).status).toBe(200);
    // From the machine itself, past the proxy, too.
    expect((await fetchFrom(`http://127.0.0.1:${port}`, '/metrics')).status).toBe(200);
  });
});
