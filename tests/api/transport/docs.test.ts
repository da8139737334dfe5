import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';

describe('the docs, in development', () => {
  const app = useApp({ settings: { NODE_ENV: 'development' } });
  const text = async (path: string) => (await app.fetch(path)).text();
  const asBrowser = (path: string) => app.fetch(path, { headers: { accept: 'text/html,*/*;q=0.8' } });

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
    expect(clients).toContain('href="/docs/examples/clients/relay/author.tsx"');
    expect(clients).toContain('href="/docs/examples/live.ts"');
    expect(await text('/docs/contributing')).not.toMatch(/href="[^"]*src\//);
  });

  it('show code and quotation marks as they are written', async () => {
    expect(await text('/docs/readme')).toContain('<code>npm ci &amp;&amp; npm start</code></pre>');
    expect(await text('/docs/api')).toMatch(/<code><span class="hljs-keyword">query<\/span> /);
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
    '/docs/examples/clients/package-lock.json',
    '/docs/examples/clients/.npmrc',
    '/docs/examples/clients/node_modules/typescript/package.json',
    '/docs/examples/web/dist/index.html',
    '/docs/examples/..%2fpackage.json',
    '/docs/images/nothing.png',
    '/docs/package.json',
    '/docs/bench/package.json',
    '/docs/bench/run.ts',
    '/docs/..%2fpackage.json',
    '/docs/images/..%2f..%2fpackage.json',
  ])('have nothing at %s', async (path) => {
    expect((await app.fetch(path)).status).toBeGreaterThanOrEqual(400);
  });

  it('are found by their words: the section that says it comes first, with the words marked', async () => {
    const first = async (query: string) => {
      const page = await text(`/docs/?q=${encodeURIComponent(query)}`);
      const [, address, heading = ''] =
        /<li><p class="place">.*?<a href="([^"]*)">(.*?)<\/a>/.exec(page) ?? [];
      return { page, address, heading: heading.replaceAll(/<\/?mark>/g, '') };
    };
    expect(await first('Idempotency-Key')).toMatchObject({
      address: expect.stringMatching(/^.docs.idempotency/),
    });
    expect(await first('COMPLEXITY_LIMIT')).toMatchObject({ address: '/docs/errors#complexity_limit' });
    expect(await first('pagination')).toMatchObject({ address: '/docs/pagination', heading: 'Pagination' });
    expect(await first('Events')).toMatchObject({ address: '/docs/events', heading: 'Events' });
    expect(await first('redis')).toMatchObject({ address: '/docs/operations#redis' });
    expect((await first('queries')).page).toContain('<mark>quer</mark>y');
    expect((await first('Relay')).page).toContain('<mark>Relay</mark>');
    expect((await first('pgbouncer xyzzy')).page).toContain('No section has all of these words.');
    expect((await first('xyzzy')).page).toContain('No page has any of these words.');
    expect((await first('<b>"')).page).toContain('“&lt;b&gt;&quot;” in the docs');
  });

  it('lead from each hit to an anchor that the page has', async () => {
    const page = await text('/docs/?q=events');
    const hits = [...page.matchAll(/<li><p class="place">.*?<a href="([^"#]*)(?:#([^"]*))?">/g)];
    expect(hits.length).toBeGreaterThan(10);
    for (const [, path = '', id] of hits)
      expect(await text(path), `${path}#${id}`).toContain(id === undefined ? '<h1 ' : ` id="${id}">`);
  });

  it('have the files of the examples, as pages and as text', async () => {
    const list = await text('/docs/examples/');
    for (const path of ['/docs/examples/retry.ts', '/docs/examples/web/src/app.ts']) {
      expect(list).toContain(`href="${path}"`);
      const raw = await app.fetch(`${path}?raw`);
      expect(raw.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      expect(await raw.text()).toBe(await readFile(path.slice('/docs/'.length), 'utf8'));
      expect(await text(path)).toContain(`href="${path}?raw" download=`);
    }
  });

  it('answer a browser with a page where there is none, and a program with JSON', async () => {
    const missing = await asBrowser('/docs/paginations');
    expect([missing.status, missing.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    const said = await missing.text();
    expect(said).toContain('There is no such page');
    expect(said).toContain('href="/docs/pagination"');
    expect(await (await asBrowser('/docs/idempotency-keys.html')).text()).toContain(
      'href="/docs/idempotency"',
    );
    const program = await app.fetch('/docs/paginations');
    expect([program.status, program.headers.get('vary')]).toEqual([404, expect.stringContaining('Accept')]);
    expect(await program.json()).toMatchObject({ errors: [{ extensions: { code: 'NOT_FOUND' } }] });
    expect((await asBrowser('/example/deep/link')).headers.get('content-type')).toContain('text/html');
  });

  it.each([
    ['/docs/api.md?token=x', '/docs/api?token=x'],
    ['/docs/README.md', '/docs/readme'],
    ['/docs/decisions/0031-routes.md', '/docs/decisions/0031-routes'],
    ['/docs/examples/clients/relay?token=x', '/docs/examples/?token=x#examples-clients-relay'],
    ['/docs/examples/web/src/', '/docs/examples/#examples-web-src'],
    ['/docs/examples', '/docs/examples/#examples'],
    ['/docs?token=x', '/docs/?token=x'],
    ['/example?token=x', '/example/?token=x'],
  ])('lead from the name of a file or folder, %s, to its page', async (path, location) => {
    const response = await app.fetch(path);
    expect([response.status, response.headers.get('location')]).toEqual([308, location]);
  });

  it('are kept by no cache, as they are read anew each time', async () => {
    for (const path of ['/docs', '/docs/', '/docs/contract', '/docs/schema.graphql', '/example'])
      expect([path, (await app.fetch(path)).headers.get('cache-control')]).toEqual([path, 'no-store']);
  });

  it('run no script but their own and load nothing from elsewhere', async () => {
    for (const path of ['/', '/docs/', '/docs/readme'])
      expect((await app.fetch(path)).headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; img-src 'self' data:; script-src 'sha256-[^']+';/,
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
