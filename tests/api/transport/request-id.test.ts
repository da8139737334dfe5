import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { useSocket } from '../../support/socket.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('X-Request-Id', () => {
  const app = useApp({ settings: { CORS_ORIGINS: 'https://app.example.com' } });
  const socket = useSocket(app);
  const idOf = async (path: string, init: RequestInit = {}) =>
    (await app.fetch(path, init)).headers.get('x-request-id');

  it('is on every response, a new one each', async () => {
    const { key } = await app.account();
    const ids = [
      await idOf('/graphql?query={__typename}'),
      await idOf('/graphql', { method: 'POST' }),
      await idOf('/graphql', { headers: { accept: 'text/html' } }),
      await idOf('/graphql', { method: 'PUT' }),
      await idOf('/graphql', { headers: { authorization: 'Bearer wrong' } }),
      await idOf(`/graphql?query={viewer{id}}&api_key=${key}`),
      await idOf('/nowhere'),
      await idOf('/health/live'),
      await idOf('/health/ready'),
      await idOf('/metrics'),
      await idOf('/graphql', {
        method: 'OPTIONS',
        headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
      }),
    ];
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('keeps what the client sent, up to 128 printable characters without a comma', async () => {
    // White space around a field's value is no part of it (RFC 9110 section 5.5).
    const printable = fc
      .string({
        unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
        minLength: 1,
        maxLength: 128,
      })
      .filter((text) => text.trim() === text && !text.includes(','));
    await fc.assert(
      fc.asyncProperty(printable, async (sent) => {
        expect(await idOf('/health/live', { headers: { 'x-request-id': sent } })).toBe(sent);
      }),
      { examples: [['x'.repeat(128)]] },
    );
  });

  it.each([
    ['129 characters', 'x'.repeat(129)],
    ['a control character', 'a\tb'],
    ['a character beyond ASCII', 'é'],
    ['a comma, as of two lines that were joined', 'mine, another'],
    ['nothing', ''],
  ])('replaces %s', async (_what, sent) => {
    expect(await idOf('/health/live', { headers: { 'x-request-id': sent } })).toMatch(UUID);
  });

  it('and an error are there where HTTP itself is broken, or much is expected', async () => {
    const withoutHost = await socket.send('GET /health/live HTTP/1.1\r\nconnection: close\r\n\r\n');
    expect(withoutHost).toMatch(/^HTTP\/1\.1 400 /);
    expect(withoutHost).toMatch(/^x-request-id: [\da-f-]{36}\r$/im);
    expect(withoutHost).toContain('"code":"BAD_REQUEST"');
    const expecting = await socket.send(
      'GET /health/live HTTP/1.1\r\nhost: localhost\r\nexpect: miracles\r\nconnection: close\r\n\r\n',
    );
    expect(expecting).toMatch(/^HTTP\/1\.1 200 /);
    expect(expecting).toMatch(/^x-request-id: /im);
  });

  it('is in the log line of its request', async () => {
    await idOf('/health/live', { headers: { 'x-request-id': 'find-me-again' } });
    const lines = app.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ requestId }) => requestId === 'find-me-again')).toEqual([
      expect.objectContaining({ method: 'GET', path: '/health/live', status: 200 }),
    ]);
  });
});
