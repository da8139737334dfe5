import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';

describe('the docs, in development', () => {
  const app = useApp({ settings: { NODE_ENV: 'development' } });
  const text = async (path: string) => (await app.fetch(path)).text();

  it('are listed, and every page of the list can be opened', async () => {
    const list = await text('/docs/');
    const paths = [...list.matchAll(/href="(\/docs\/[^"#]+)"/g)].map(([, path = '']) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        '/docs/readme',
        '/docs/contributing',
        '/docs/contract',
        '/docs/schema.graphql',
      ]),
    );
    for (const path of paths) expect((await app.fetch(path)).status, path).toBe(200);
  });

  it('link to each other, to sections, and to no file that is no page', async () => {
    const page = await text('/docs/contributing');
    expect(page).toContain('href="/docs/architecture#allowed-imports"');
    expect(await text('/docs/web-page')).toContain('href="/docs/readme#running-it"');
    expect(await text('/docs/architecture')).toContain('<h2 id="allowed-imports">');
    const clients = await text('/docs/clients');
    expect(clients).toContain('<p><code>author.tsx</code> has the posts');
    expect(clients).not.toMatch(/href="[^"]*\.tsx"/);
  });

  it('show code and quotation marks as they are written', async () => {
    expect(await text('/docs/readme')).toContain('<code>npm ci &amp;&amp; npm start</code></pre>');
  });

  it('include the schema as text, and pictures', async () => {
    const schema = await app.fetch('/docs/schema.graphql');
    expect(schema.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await schema.text()).toBe(await readFile('schema.graphql', 'utf8'));
    const page = await text('/docs/bench/results');
    const [, picture = ''] = /<img src="([^"]+)"/.exec(page) ?? [];
    const response = await app.fetch(picture);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
  });

  it.each([
    '/docs/nothing',
    '/docs/images/nothing.png',
    '/docs/package.json',
    '/docs/bench/package.json',
    '/docs/bench/run.ts',
    '/docs/..%2fpackage.json',
    '/docs/images/..%2f..%2fpackage.json',
  ])('have nothing at %s', async (path) => {
    expect((await app.fetch(path)).status).toBeGreaterThanOrEqual(400);
  });

  it('are kept by no cache, as they are read anew each time', async () => {
    for (const path of ['/docs', '/docs/', '/docs/contract', '/docs/schema.graphql', '/example'])
      expect([path, (await app.fetch(path)).headers.get('cache-control')]).toEqual([path, 'no-store']);
  });

  it('run no script and load nothing from elsewhere', async () => {
    for (const path of ['/', '/docs/', '/docs/readme'])
      expect((await app.fetch(path)).headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; img-src 'self' data:;/,
      );
  });
});

describe('the docs elsewhere', () => {
  const app = useApp();

  it('do not exist', async () => {
    for (const path of ['/docs', '/docs/', '/docs/readme', '/docs/schema.graphql'])
      expect((await app.fetch(path)).status).toBe(404);
  });
});
