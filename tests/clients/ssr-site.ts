import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { freePorts } from '../../scripts/cluster/processes.ts';
import { blocksOf } from '../support/docs/markdown.ts';
import { startNginx } from '../support/nginx.ts';
import { type BrowserOptions, openBrowser } from '../support/processes/browser.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { createPosts } from '../support/processes/posts.ts';
import { ROOT, runProgram, type Settings } from '../support/processes/process.ts';
import { admin, productionSettings, startServer } from '../support/processes/server.ts';

const PACKAGE = join(ROOT, 'examples/ssr');
const PASSWORD = 'a long password of the visitor';
export const EMAIL = 'ada@example.com';

const blocks = blocksOf(readFileSync(join(ROOT, 'docs/guides/server-side-rendering.md'), 'utf8'));

/** The only block of the page that is in the language and matches. */
function findBlock(language: string, pattern: RegExp): string {
  const found = blocks.filter((block) => block.language === language && pattern.test(block.text));
  if (found.length !== 1) throw new Error(`${found.length} blocks of ${language} match ${pattern}.`);
  return found[0]?.text ?? '';
}

const parseSettings = (block: string): Settings =>
  Object.fromEntries(
    [...block.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  );

/** Installs the packages of the example if they are missing, checks its types, and builds it. */
export function buildSite(): void {
  const { PATH, HOME } = process.env;
  // npm trusts the authorities that the machine trusts, which the pinned Node does only if told to.
  const env = { PATH, HOME, NODE_USE_SYSTEM_CA: '1', NO_COLOR: '1' };
  const run = (...args: readonly string[]) => execFileSync('npm', args, { cwd: PACKAGE, env, stdio: 'pipe' });
  if (process.env.CI !== undefined || !existsSync(join(PACKAGE, 'node_modules')))
    run('ci', '--no-audit', '--no-fund');
  run('run', '--silent', 'typecheck');
  run('run', '--silent', 'build');
}

/** The example in production, as the page of the documentation says: nginx with TLS before it and the service. */
export async function startSite() {
  const [tls = 0, api = 0, web = 0] = await freePorts(3);
  const origin = `https://localhost:${tls}`;
  const withPlaces = (block: string) =>
    block
      .replaceAll('https://example.com', origin)
      .replace('listen 443', `listen 127.0.0.1:${tls}`)
      .replace('example.com;', 'localhost;')
      .replaceAll(/(127\.0\.0\.1:|PORT=)3000/g, `$1${web}`)
      .replaceAll('127.0.0.1:4000', `127.0.0.1:${api}`);
  const dataDir = await migratedFolder();
  const settings = {
    ...productionSettings(),
    ...parseSettings(withPlaces(findBlock('ini', /^PUBLIC_URL=/))),
    PORT: String(api),
  };
  let server = await startServer(dataDir, settings);
  const run = async (...args: readonly string[]) => {
    const result = await admin(args, dataDir, settings);
    expect(result.code, result.stderr).toBe(0);
    return result.json;
  };
  await run('user', 'create', '--name', 'Ada', '--email', EMAIL, '--password', PASSWORD);
  const { key } = await run(
    'api-key',
    'create',
    '--user',
    EMAIL,
    '--name',
    'k',
    '--scopes',
    'posts:read posts:write',
  );
  const rendering = runProgram(
    [process.execPath, 'build'],
    parseSettings(withPlaces(findBlock('ini', /^HOST=/))),
    PACKAGE,
  );
  await rendering.printed(/Listening/);
  const folder = await migratedFolder();
  const nginx = `pid /run/nginx.pid;\nevents {}\nhttp {\n  access_log off;\n  ${withPlaces(findBlock('nginx', /./))}}\n`;
  const { certificate } = await startNginx(nginx, { folder, port: tls });
  return {
    origin,
    run,
    create: (...titles: readonly string[]) => createPosts(server, key, titles),
    async kill() {
      server.kill('SIGKILL');
      await server.exited;
    },
    async restart() {
      server = await startServer(dataDir, settings);
    },
    /** Opens a browser that reaches the site, and these other origins. */
    async openBrowser(options: BrowserOptions = {}) {
      const browser = await openBrowser(origin, { ignoreHTTPSErrors: true, ...options });
      onTestFinished(() => browser.close());
      return browser.context;
    },
    /** Submits the form as a visitor with another IP address does. Returns the page. */
    async signInFrom(localAddress: string, email: string): Promise<string> {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const headers = { origin, 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' };
      const options = { method: 'POST', headers, ca: certificate, localAddress, family: 4 };
      request(`${origin}/?/signIn`, options, (response) => text(response).then(resolve, reject))
        .on('error', reject)
        .end(new URLSearchParams({ email, password: 'a wrong password' }).toString());
      return promise;
    },
  };
}

/** The example under Vite, as the first commands of the page start it. */
export async function startDevelopment() {
  const [web = 0, api = 0] = await freePorts(2);
  const origin = `http://localhost:${web}`;
  const start = findBlock('sh', /npm start/).replaceAll('http://localhost:5173', origin);
  const dataDir = await migratedFolder();
  await startServer(dataDir, { ...parseSettings(start), PORT: String(api) });
  expect(findBlock('sh', /npm ci/)).toMatch(/^cd examples\/ssr\n.*npm run dev\n$/s);
  const vite = runProgram(
    [process.execPath, 'node_modules/vite/bin/vite.js', 'dev', '--strictPort', '--port', String(web)],
    { API_ORIGIN: `http://localhost:${api}` },
    PACKAGE,
  );
  await vite.printed(/Local:/);
  const demo: { readonly password: string } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
  return { origin, password: demo.password };
}

export type Site = Awaited<ReturnType<typeof startSite>>;

export async function signIn(page: Page, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail').fill(EMAIL);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

export const titlesOf = (page: Page) => page.getByRole('listitem').getByRole('heading').allInnerTexts();
export const statusOf = (page: Page) => page.getByRole('status').innerText();
