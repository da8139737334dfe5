import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { EXAMPLE } from '../../scripts/example-package.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { startServer } from '../support/processes/server.ts';

/** The status of a request whose target no client library normalises. */
async function statusOf(origin: string, target: string): Promise<number> {
  const { hostname, port, host } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1]);
}

describe('the service in development', () => {
  it('serves the files of the built example, and no others', async () => {
    const dataDir = await migratedFolder();
    const { origin } = await startServer(dataDir);
    const get = (path: string, init?: RequestInit) =>
      fetch(`${origin}${path}`, { redirect: 'manual', ...init });
    const moved = await get('/example');
    expect([moved.status, moved.headers.get('location')]).toEqual([308, '/example/']);

    const page = await get('/example/');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(page.headers.get('content-security-policy')).not.toContain('unsafe');
    // As the start page links to it.
    const { pageToken } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
    const linked = await get(`/example/?token=${pageToken}`);
    expect(await linked.text()).toBe(await page.text());
    const etag = page.headers.get('etag') ?? '';
    expect((await get('/example/', { headers: { 'if-none-match': etag } })).status).toBe(304);
    const head = await get('/example/', { method: 'HEAD' });
    expect([head.status, await head.text(), head.headers.get('etag')]).toEqual([200, '', etag]);

    const assets = await readdir(join(EXAMPLE, 'dist/assets'));
    const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' };
    for (const [ending, type] of Object.entries(types)) {
      const name = assets.find((asset) => asset.endsWith(ending));
      const { status, headers } = await get(`/example/assets/${name}`);
      expect([status, headers.get('content-type')]).toEqual([200, type]);
      expect(headers.get('cache-control')).toContain('immutable');
    }

    for (const target of [
      '/example/../package.json',
      '/example/assets/../../package.json',
      '/example/%2e%2e/package.json',
      '/example/..%2fpackage.json',
      '/example/..%5cpackage.json',
      '/example//etc/passwd',
      '/example/%00',
      '/example/assets',
      '/example/assets/',
      '/example/index.html/',
      '/examples',
      '/example/package.json',
    ])
      expect({ target, status: await statusOf(origin, target) }).toEqual({
        target,
        status: expect.toSatisfy((status: number) => status === 400 || status === 404),
      });
    expect((await get('/example/', { method: 'POST' })).status).toBe(405);
  });
});
