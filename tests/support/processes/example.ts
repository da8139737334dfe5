import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { EXAMPLE } from '../../../scripts/example-package.ts';
import { type Browser, openBrowser } from './browser.ts';
import { migratedFolder } from './migrated-folder.ts';
import { runProgram, type Settings, temporaryFolder } from './process.ts';
import { type ServerProcess, startServer } from './server.ts';

const NODE = join(EXAMPLE, '../../node_modules/.bin/node');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** Where the page comes from: the service itself, or an application on another port that calls it. */
export type PageOrigin = 'own' | 'other';

/** Serves the files of a folder, once it is known which. */
async function startApplication() {
  let folder: string | undefined;
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const name = pathname === '/' ? 'index.html' : pathname.slice(1);
    const content = await readFile(join(folder ?? '', name)).catch(() => undefined);
    if (content === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': TYPES[extname(name)] }).end(content);
  }).listen(0, 'localhost');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    serve(from: string) {
      folder = from;
    },
  };
}

/** Builds the page for a service at another origin. */
async function buildFor(api: string): Promise<string> {
  const folder = await temporaryFolder();
  const vite = join(EXAMPLE, 'node_modules/vite/bin/vite.js');
  const args = ['build', EXAMPLE, '--base', '/', '--outDir', folder, '--emptyOutDir'];
  const { code, stderr } = await runProgram([NODE, vite, ...args], { VITE_API_URL: api }).exited;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return folder;
}

export interface Example {
  readonly server: ServerProcess;
  readonly dataDir: string;
  /** The name of the service in the browser. */
  readonly api: string;
  readonly context: BrowserContext;
  readonly browser: Browser;
  readonly key: string;
  readonly password: string;
  /** The address of the page. */
  readonly url: string;
  /** Opens the page in another tab. Its session is that of the others. */
  open(hash?: string): Promise<Page>;
  /** Opens the page and signs in. */
  openSignedIn(name?: string): Promise<Page>;
  /** Starts the service again on its folder and its port, after it was killed. */
  restart(): Promise<ServerProcess>;
}

/** The service with demo data in a process, and a browser in front of the example page. */
export async function startExample(from: PageOrigin = 'own', settings: Settings = {}): Promise<Example> {
  const dataDir = await migratedFolder();
  const application = from === 'other' ? await startApplication() : undefined;
  const cors = application === undefined ? {} : { CORS_ORIGINS: application.origin };
  const PORT = String(await freePort());
  const given: Settings = { RATE_LIMIT_BURST: '10000', LOG_LEVEL: 'warn', PORT, ...cors, ...settings };
  const server = await startServer(dataDir, given);
  // Browsers keep Secure cookies of this name without TLS.
  const api = `http://localhost:${PORT}`;
  application?.serve(await buildFor(api));
  const url = application === undefined ? `${api}/example/` : `${application.origin}/`;
  const browser = await openBrowser(new URL(url).origin, { others: [api] });
  onTestFinished(browser.close);
  const { context } = browser;
  await context.addInitScript(recordAnnouncements);
  const { apiKey: key, password } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));

  async function open(hash = ''): Promise<Page> {
    const page = await context.newPage();
    await page.goto(url + hash);
    return page;
  }

  return {
    server,
    dataDir,
    api,
    context,
    browser,
    key,
    password,
    url,
    open,
    async openSignedIn(name = 'Ada') {
      const page = await open();
      await signIn(page, name, password);
      return page;
    },
    restart: () => startServer(dataDir, given),
  };
}

/** The list does not move while the pointer is over it. */
export const movePointerAway = (page: Page) => page.mouse.move(5, 5);

/** Fills in the form for a demo account. */
export async function signIn(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel('E-mail').fill(`${name.toLowerCase()}@example.com`);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.account-name', { hasText: name }).waitFor();
  await movePointerAway(page);
}

/** Runs in each page before its own code. */
function recordAnnouncements(): void {
  const announcements: string[] = [];
  Object.assign(window, { announcements });
  const note = () => {
    const text = document.getElementById('announcements')?.textContent ?? '';
    if (text !== '' && text !== announcements.at(-1)) announcements.push(text);
  };
  new MutationObserver(note).observe(document, { subtree: true, childList: true });
}

/** What a screen reader was given to say so far. */
export function announcedIn(page: Page): Promise<string[]> {
  return page.evaluate(() => Reflect.get(window, 'announcements'));
}

export const waitUntilLive = (page: Page) => page.locator('[data-live=live]').waitFor();

/** The titles in the list, from the top. */
export const titlesOf = (page: Page) => page.locator('.posts h2').allTextContents();

/** The number of posts with a title in the database. */
export async function postsTitled(server: ServerProcess, key: string, title: string): Promise<number> {
  const { data } = await server.gql('{ posts(limit: 100) { title } }', { key });
  const { posts } = data as { readonly posts: readonly { readonly title: string }[] };
  return posts.filter((post) => post.title === title).length;
}
