import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../src/app/create-app.ts';
import { developmentRoutes } from '../../../src/features/development/routes.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { login, PASSWORD, person, visitor } from '../../support/credentials/session.ts';

const CORS_ORIGINS = 'http://localhost:5173, https://app.example/';
const ROOT = join(import.meta.dirname, '../../..');
const ASK = '/graphql?query={__typename}';

/** The lines of the log that hold a text. */
const linesWith = ({ logged }: TestApp, text: string) => logged.filter((line) => line.includes(text));

/** A request as it arrives under a host name. */
function under(app: TestApp, origin: string): Pick<TestApp, 'fetch'> {
  return { fetch: (path, init) => app.app.fetch(new Request(new URL(path, origin), init)) };
}

describe('in development', () => {
  const app = useApp({ settings: { NODE_ENV: 'development', CORS_ORIGINS } });

  it('a rejected origin is logged once, with the setting that would allow it', async () => {
    const origin = 'http://localhost:3000';
    await app.fetch(ASK, { headers: { origin } });
    await app.fetch('/login', { headers: { origin } });
    await app.fetch('/graphql', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    const lines = linesWith(app, origin).filter((line) => line.includes('CORS_ORIGINS'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      origin,
      hint: expect.stringContaining(`Add ${origin} to the setting CORS_ORIGINS`),
    });
  });

  it('a rejected preflight is logged too', async () => {
    const origin = 'https://preflight.example';
    await app.fetch('/graphql', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    expect(linesWith(app, `Add ${origin} to`)).toHaveLength(1);
  });

  it('an origin without a name is logged as such', async () => {
    await app.fetch(ASK, { headers: { origin: 'null' } });
    expect(linesWith(app, '"origin":"null"')).toHaveLength(1);
  });

  it.each(['http://localhost:5173', 'https://app.example', 'http://127.0.0.1:4000'])(
    '%s is allowed, so nothing is logged',
    async (origin) => {
      const before = app.logged.length;
      await app.fetch(ASK, { headers: { origin } });
      expect(app.logged.slice(before).filter((line) => line.includes('CORS_ORIGINS'))).toEqual([]);
    },
  );

  it('a 403 by origin names the origin and the setting', async () => {
    const { cookie, email } = await visitor(app);
    const headers = { origin: 'https://other.example' };
    const rejected = [
      await app.gql('mutation { deletePost(id: "x") }', { headers: { cookie, ...headers } }),
      (await (await login(app, { email, password: PASSWORD }, headers)).json()) as {
        errors: { message: string }[];
      },
    ];
    for (const { errors } of rejected)
      expect(errors?.[0]?.message).toMatch(/https:\/\/other\.example.*CORS_ORIGINS/);
  });

  it.each<[string, string, Record<string, string>, RegExp | null]>([
    [
      'from localhost to 127.0.0.1',
      'http://127.0.0.1:4000',
      { origin: 'http://localhost:5173' },
      /SameSite=Strict/,
    ],
    ['from another site', 'https://api.example.com', { origin: 'https://app.example' }, /SameSite=Strict/],
    [
      'as the browser says',
      'http://localhost:4000',
      { origin: 'http://localhost:5173', 'sec-fetch-site': 'cross-site' },
      /SameSite=Strict/,
    ],
    [
      'without TLS, from its own origin',
      'http://192.168.0.7:4000',
      { origin: 'http://192.168.0.7:4000' },
      /Secure/,
    ],
    ['without TLS, by no browser', 'http://192.168.0.7:4000', {}, /Secure/],
    ['from localhost to localhost', 'http://localhost:4000', { origin: 'http://localhost:5173' }, null],
    ['on its own origin', 'http://127.0.0.1:4000', { origin: 'http://127.0.0.1:4000' }, null],
    [
      'from a sibling over TLS',
      'https://api.example',
      { origin: 'https://app.example', 'sec-fetch-site': 'same-site' },
      null,
    ],
    ['by curl', 'http://127.0.0.1:4000', {}, null],
    ['behind a proxy with TLS', 'http://api.example', { 'x-forwarded-proto': 'https' }, null],
  ])('a login %s is told whether the browser drops the cookie', async (_how, origin, headers, warning) => {
    const { email } = await person(app);
    const before = app.logged.length;
    const response = await login(under(app, origin), { email, password: PASSWORD }, headers);
    expect(response.status).toBe(200);
    const told = response.headers.get('x-session-warning');
    const lines = app.logged.slice(before).filter((line) => line.includes('auth.session_cookie_dropped'));
    if (warning === null) expect([told, lines]).toEqual([null, []]);
    else {
      expect(told).toMatch(warning);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain(told ?? 'nothing');
    }
  });

  it('/ is a page of links to everything, which all work', async () => {
    const page = await app.fetch('/');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const text = await page.text();
    const links = [...text.matchAll(/<a href="([^"]*)"/g)].map(([, path = '']) => path);
    expect(links).toEqual(
      expect.arrayContaining(['/graphql', '/example/', '/account', '/health/ready', '/metrics']),
    );
    for (const link of links) {
      const { status } = await app.fetch(link, { headers: { accept: 'text/html' } });
      expect({ link, status }).toEqual({ link, status: 200 });
    }
    const named = [...text.matchAll(/<li><div><code>([^<]*)/g)].map(([, file = '']) => file);
    expect(named).toContain('docs/reference/api.md');
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it('pages run no script, load nothing from elsewhere and are kept by no cache', async () => {
    for (const path of ['/', '/example']) {
      const { headers } = await app.fetch(path);
      expect([path, headers.get('cache-control')]).toEqual([path, 'no-store']);
    }
    expect((await app.fetch('/')).headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action/,
    );
  });

  it('/example leads to /example/ with its query', async () => {
    const { status, headers } = await app.fetch('/example?token=x');
    expect([status, headers.get('location')]).toEqual([308, '/example/?token=x']);
  });

  it('a browser gets a page for what the example does not have, and a program gets JSON', async () => {
    const types = ['text/html,*/*;q=0.8', '*/*'].map(async (accept) => {
      const { status, headers } = await app.fetch('/example/deep/link', { headers: { accept } });
      return [status, headers.get('content-type'), headers.get('vary')?.includes('Accept')];
    });
    expect(await Promise.all(types)).toEqual([
      [404, 'text/html; charset=utf-8', true],
      [404, 'application/json; charset=utf-8', true],
    ]);
  });

  it('/graphql/ leads to /graphql', async () => {
    const moved = await app.fetch('/graphql/?query={__typename}', { redirect: 'manual' });
    expect([moved.status, moved.headers.get('location')]).toEqual([308, '/graphql?query={__typename}']);
  });
});

describe('the pages of development and the demo key', () => {
  const app = useApp({ settings: { NODE_ENV: 'development' } });

  const pageToken = 'the-token-that-was-printed';
  const apiKey = 'cga_the-key-of-the-demo';

  /** The development service with that key. */
  function withDemo() {
    const demoKey = { apiKey, pageToken };
    const log = createLogger({ level: 'silent', pretty: false });
    const { config, database } = app;
    const routes = developmentRoutes({ ...config, demoKey });
    const demo = createApp({ config, database, log, demoKey, routes });
    onTestFinished(() => demo.close());
    return async (address: string, headers: Record<string, string> = {}) => {
      const request = new Request(address, { headers: { accept: 'text/html', ...headers } });
      const response = await demo.fetch(request);
      expect(response.status).toBe(200);
      expect(response.headers.get('referrer-policy')).toBe('same-origin');
      expect(response.headers.get('cache-control')).toBe('no-store');
      return response.text();
    };
  }

  it.each(['/', '/graphql'])('%s has it under the printed address', async (path) => {
    const page = withDemo();
    for (const origin of ['http://127.0.0.1:4000', 'http://localhost:4000', 'http://[::1]:4000'])
      expect(await page(`${origin}${path}?token=${pageToken}`)).toContain(apiKey);
  });

  // Every user of the machine is local, and so is what forwards a port to it.
  it.each(['/', '/graphql'])('%s does not have it without the token, and says where it is', async (path) => {
    const page = withDemo();
    for (const query of ['', '?token=', '?token=another', `?token=${pageToken}0`, `?Token=${pageToken}`]) {
      const text = await page(`http://localhost:4000${path}${query}`);
      expect(text).not.toContain(apiKey);
      expect(text).not.toContain(pageToken);
      expect(text).toContain('?token=…');
    }
  });

  it.each(['/', '/graphql'])('%s does not have it elsewhere, whatever the token', async (path) => {
    const page = withDemo();
    // Another site's name that leads to this machine (DNS rebinding).
    for (const origin of ['http://evil.example:4000', 'http://127.0.0.1.evil.example'])
      expect(await page(`${origin}${path}?token=${pageToken}`)).not.toContain(apiKey);
    // Somebody elsewhere, through a proxy on this machine.
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    expect(await page(`http://localhost:4000${path}?token=${pageToken}`, headers)).not.toContain(apiKey);
  });

  it('keep the token in the links between them, and in no other', async () => {
    const page = withDemo();
    const linked = (text: string) =>
      [...text.matchAll(/href=\\?"(\/[^"\\]*)/g)].map(([, address = '']) => address);
    for (const path of ['/', '/graphql']) {
      const links = linked(await page(`http://localhost:4000${path}?token=${pageToken}`));
      const plain = linked(await page(`http://localhost:4000${path}`));
      expect(plain.some((link) => link.includes('token='))).toBe(false);
      expect(links.map((link) => link.replace(`?token=${pageToken}`, ''))).toEqual(plain);
      const without = links.filter((link) => !link.includes('?token='));
      const open = /^\/(health|metrics|graphiql|account|\.well-known)/;
      expect(without.filter((link) => !open.test(link))).toEqual([]);
    }
  });
});

describe('elsewhere', () => {
  const app = useApp({ settings: { CORS_ORIGINS } });

  it('a browser gets a page for an unknown path, which leads to what production has', async () => {
    const ask = (accept: string, method = 'GET') => app.fetch('/nothing', { method, headers: { accept } });
    const page = await ask('text/html,application/xhtml+xml,*/*;q=0.8');
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(page.headers.get('cache-control')).toBe('no-store');
    const text = await page.text();
    expect(text).toContain('<h1>Page not found</h1>');
    expect([...text.matchAll(/href="([^"]*)"/g)].map(([, path]) => path)).toEqual(['/account']);
    for (const program of [ask('*/*'), ask('application/json, text/html;q=0.9'), ask('text/html', 'POST')]) {
      const { status, headers } = await program;
      expect([status, headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
    }
    for (const accept of ['text/html', '*/*'])
      expect((await ask(accept)).headers.get('vary')).toContain('Accept');
  });

  it('nothing is logged or said of it, and the pages do not exist', async () => {
    await app.fetch(ASK, { headers: { origin: 'https://refused.example' } });
    expect(linesWith(app, 'refused.example')).toEqual([]);
    const { email } = await person(app);
    const response = await login(app, { email, password: PASSWORD }, { origin: 'http://localhost:5173' });
    expect([response.status, response.headers.get('x-session-warning')]).toEqual([200, null]);
    for (const path of ['/', '/graphql/', '/example', '/example/'])
      expect((await app.fetch(path)).status).toBe(404);
  });
});
