import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { UNTHROTTLED } from '../support/unthrottled.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('X-Request-Id', () => {
  const app = useApp({ settings: { ...UNTHROTTLED, CORS_ORIGINS: 'https://app.example.com' } });
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

  it('keeps what the client sent, up to 128 printable characters', async () => {
    const printable = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 128,
    });
    await fc.assert(
      fc.asyncProperty(printable, async (sent) => {
        expect(await idOf('/health/live', { headers: { 'x-request-id': sent } })).toBe(sent);
      }),
    );
  });

  it.each([
    ['129 characters', 'x'.repeat(129)],
    ['a control character', 'a\tb'],
    ['a character beyond ASCII', 'é'],
    ['nothing', ''],
  ])('replaces %s', async (_what, sent) => {
    expect(await idOf('/health/live', { headers: { 'x-request-id': sent } })).toMatch(UUID);
  });

  it('is in the log line of its request', async () => {
    await idOf('/health/live', { headers: { 'x-request-id': 'find-me-again' } });
    const lines = app.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ requestId }) => requestId === 'find-me-again')).toEqual([
      expect.objectContaining({ method: 'GET', path: '/health/live', status: 200 }),
    ]);
  });
});
