import { describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { statement } from '../../../src/database/statement.ts';
import { commitOf } from '../../../src/platform/process.ts';
import { ORIGIN, useApp } from '../../support/app.ts';
import { ROOT } from '../../support/processes/process.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

describe('/health', () => {
  const app = useApp();

  it('/live says the version and the commit', async () => {
    const response = await app.fetch('/health/live');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      status: 'ok',
      version: packageJson.version,
      commit: commitOf(ROOT),
    });
  });

  it('/ready is 200 where the database answers and is migrated', async () => {
    expect((await app.fetch('/health/ready')).status).toBe(200);
  });

  it.each(['/health/live', '/health/ready'])('%s is for GET', async (path) => {
    expect((await app.fetch(path, { method: 'HEAD' })).status).toBe(200);
    const response = await app.fetch(path, { method: 'POST' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
  });

  it('needs no credentials, takes no token and minds no bad ones', async () => {
    const headers = { authorization: 'Bearer wrong' };
    for (const path of ['/health/live', '/health/ready']) {
      const response = await app.fetch(path, { headers });
      expect(response.status).toBe(200);
      expect(response.headers.has('x-ratelimit-remaining')).toBe(false);
    }
  });
});

describe('/health/ready', () => {
  const clock = steppedClock();
  const app = useApp({ clock });

  it('is 503 while a migration is pending, and while shutting down', async () => {
    const rename = (from: string, to: string) =>
      app.database.query(statement(`rename_${from}`, `ALTER TABLE "${from}" RENAME TO "${to}"`), []);
    await rename('_prisma_migrations', 'elsewhere');
    expect((await app.fetch('/health/ready')).status).toBe(503);
    await rename('elsewhere', '_prisma_migrations');
    // A response may be a second old.
    clock.advance(1_000);
    expect((await app.fetch('/health/ready')).status).toBe(200);
    app.app.announceShutdown();
    const unready = await app.fetch('/health/ready');
    expect(unready.status).toBe(503);
    expect(await unready.json()).toMatchObject({
      errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }],
    });
    expect((await app.fetch('/health/live')).status).toBe(200);
    expect((await app.gql('{ __typename }')).status).toBe(200);
  });
});

describe('/metrics', () => {
  const token = 'a-token-of-24-characters';
  const app = useApp({ settings: { METRICS_TOKEN: token } });
  const from = (peerAddress: string, headers: Record<string, string> = {}) =>
    app.app.fetch(new Request(`${ORIGIN}/metrics`, { headers }), { peerAddress });

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])('are for loopback, %s', async (address) => {
    const response = await from(address);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=/);
    expect(await response.text()).toContain('content_graph_http_requests_total');
  });

  it('are for bearers of METRICS_TOKEN from anywhere', async () => {
    expect((await from('203.0.113.9', { authorization: `Bearer ${token}` })).status).toBe(200);
  });

  it.each([
    ['nobody', {}],
    ['a wrong token', { authorization: 'Bearer a-token-of-24-character!' }],
    ['a shorter token', { authorization: 'Bearer a-token' }],
    ['an empty token', { authorization: 'Bearer ' }],
  ])('are rejected to %s from elsewhere with 401', async (_who, headers) => {
    const response = await from('203.0.113.9', headers);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.json()).toEqual({
      errors: [{ message: expect.any(String), extensions: { code: 'UNAUTHENTICATED' } }],
    });
  });

  it('are rejected where a proxy on this machine passes a request on', async () => {
    expect((await from('127.0.0.1', { 'x-forwarded-for': '203.0.113.9' })).status).toBe(401);
  });

  // A page of another site can point its name at this machine (DNS rebinding).
  it('are rejected on loopback under a name from elsewhere', async () => {
    const named = (origin: string, headers: Record<string, string> = {}) =>
      app.app.fetch(new Request(`${origin}/metrics`, { headers }), { peerAddress: '127.0.0.1' });
    expect((await named('http://evil.example:4000')).status).toBe(401);
    expect((await named('http://evil.example:4000', { authorization: `Bearer ${token}` })).status).toBe(200);
    for (const origin of ['http://localhost:4000', 'http://127.0.0.1:4000', 'http://[::1]:4000'])
      expect((await named(origin)).status).toBe(200);
  });

  it('have the same samples in either format, with the families of OpenMetrics named without _total', async () => {
    const samples = (text: string) => new Set(text.match(/^[a-z_]+/gm));
    const counters = (text: string) => [...text.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name]) => name);
    const openMetrics = await from('127.0.0.1', { accept: 'application/openmetrics-text' });
    const openText = await openMetrics.text();
    const plainText = await (await from('127.0.0.1')).text();
    expect(openText).toMatch(/\n# EOF\n$/);
    expect(samples(openText)).toEqual(samples(plainText));
    expect(counters(plainText)).toContain('content_graph_http_requests_total');
    expect(counters(plainText)).toEqual(counters(openText).map((name) => `${name}_total`));
  });

  it('count responses by path and status, and unknown paths as one', async () => {
    await app.fetch('/nowhere/1');
    await app.fetch('/nowhere/2');
    const text = await (await from('127.0.0.1')).text();
    expect(text).toMatch(/^content_graph_http_requests_total\{route="other",status="404"\} 2$/m);
    expect(text).not.toContain('nowhere');
  });

  it('count operations by kind and code', async () => {
    const { key } = await app.account();
    await app.gql('{ nothing }', { key });
    await app.gql('{ viewer { id } }', { key });
    const text = await (await from('127.0.0.1')).text();
    expect(text).toMatch(
      /^content_graph_graphql_operations_total\{kind="query",code="GRAPHQL_VALIDATION_FAILED"\} 1$/m,
    );
    expect(text).toMatch(/^content_graph_graphql_operations_total\{kind="query",code=""\} 1$/m);
  });
});

describe('/metrics without METRICS_TOKEN', () => {
  const app = useApp();

  it('are for loopback alone', async () => {
    const from = (peerAddress: string, headers = {}) =>
      app.app.fetch(new Request(`${ORIGIN}/metrics`, { headers }), { peerAddress });
    expect((await from('203.0.113.9')).status).toBe(403);
    expect((await from('203.0.113.9', { authorization: 'Bearer undefined' })).status).toBe(403);
    expect((await from('127.0.0.1')).status).toBe(200);
  });
});
