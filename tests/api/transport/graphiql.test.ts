import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { readEncoded } from '../../support/encoded.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/** What is shorter is sent as it is. */
const isLong = (text: string) => Buffer.byteLength(text) > 1_024;

describe("GraphiQL's page", () => {
  const app = useApp();
  const open = (path = '/graphql', headers: Record<string, string> = {}) =>
    app.fetch(path, { headers: { accept: BROWSER, ...headers } });

  /** The page and the assets that it names, by their paths. */
  async function load() {
    const page = await open();
    const paths = [...(await page.text()).matchAll(/"(\/graphiql\/[^"]+)"/g)].map(([, path = '']) => path);
    const assets = await Promise.all(paths.map(async (path) => [path, await open(path)] as const));
    return { page, assets: new Map(assets) };
  }

  it('is served to browsers, without credentials', async () => {
    const response = await open();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await response.text()).toContain('Content Graph API');
  });

  it('is served where an operation stands in the address too: a link can open one', async () => {
    const response = await open(`/graphql?${new URLSearchParams({ query: '{ posts { id } }' })}`);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    await response.body?.cancel();
  });

  it('is not served to those who ask for data', async () => {
    for (const accept of ['application/json', '*/*', 'application/json, text/html;q=0.1']) {
      const response = await open('/graphql?query={__typename}', { accept });
      expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
    }
  });

  it('is stored by no cache, since it has the key; its assets are stored for good', async () => {
    const { page, assets } = await load();
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(assets.size).toBeGreaterThan(3);
    for (const asset of assets.values()) {
      expect([asset.status, asset.headers.get('cache-control')]).toEqual([
        200,
        'public, max-age=31536000, immutable',
      ]);
      await asset.body?.cancel();
    }
  });

  it('has assets that are compressed once for all, pages of other origins among them', async () => {
    const { assets } = await load();
    for (const [path, plain] of assets) {
      const asked = { 'accept-encoding': 'gzip', origin: 'https://elsewhere.example.com' };
      const { encoding } = await readEncoded(await open(path, asked));
      expect(encoding).toBe(isLong(await plain.text()) ? 'gzip' : undefined);
    }
  });

  it('has assets that come compressed to those who take it', async () => {
    const { assets } = await load();
    for (const [path, plain] of assets) {
      const asked = { 'accept-encoding': 'gzip, deflate, br', cookie: 'session_id=a' };
      const { encoding, headers, text } = await readEncoded(await open(path, asked));
      expect(encoding).toBe(isLong(text) ? 'br' : undefined);
      expect(headers.get('vary')).toMatch(/accept-encoding/i);
      expect(text).toBe(await plain.text());
    }
  });

  it.each(['/graphiql/', '/graphiql/page.js', '/graphiql/0000000000000000/page.js'])(
    '%s is no asset',
    async (path) => {
      expect((await open(path)).status).toBe(404);
    },
  );
});

describe('GRAPHIQL=false', () => {
  const app = useApp({ settings: { GRAPHIQL: 'false' } });

  it('serves no page', async () => {
    const response = await app.fetch('/graphql', { headers: { accept: 'text/html' } });
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(response.status).toBe(401);
    expect((await app.fetch('/graphiql/page.js')).status).toBe(404);
  });
});

describe('GRAPHIQL=false, in development', () => {
  const app = useApp({ settings: { NODE_ENV: 'development', GRAPHIQL: 'false' } });

  it('the start page has no link to it', async () => {
    const page = await app.fetch('/', { headers: { accept: 'text/html' } });
    expect(await page.text()).not.toContain('href="/graphql');
  });
});
