import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { openBrowser } from '../support/processes/browser.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { ROOT } from '../support/processes/process.ts';
import { admin, startServer } from '../support/processes/server.ts';

const FOLDER = join(ROOT, 'examples/clients/oauth-page');
/** Where the page finds the client package, which a bundler puts into it otherwise. */
const CLIENT_PATH = '/client/';
const USER = ['--name', 'Grace', '--email', 'grace.hopper@example.com'] as const;
const PASSWORD = 'a password of the page';

/** The files of docs/guides/oauth-single-page-app.md on an origin of their own, which fills in what its readers fill in. */
async function servePage(filled: () => readonly [issuer: string, clientId: string]): Promise<string> {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const isCode = path.endsWith('.ts');
    const folder = path.startsWith(CLIENT_PATH) ? join(ROOT, 'packages/client/src') : FOLDER;
    const text = await readFile(join(folder, isCode ? path.replace(CLIENT_PATH, '/') : 'index.html'), 'utf8');
    const [issuer, clientId] = filled();
    response.setHeader('content-type', isCode ? 'text/javascript' : 'text/html');
    response.end(
      isCode
        ? stripTypeScriptTypes(text).replace("'content-graph-client'", `'${CLIENT_PATH}index.ts'`)
        : text.replace('http://127.0.0.1:4000', issuer).replace('CLIENT_ID', clientId),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

async function start() {
  let filled: readonly [string, string] = ['', ''];
  const origin = await servePage(() => filled);
  const dataDir = await migratedFolder();
  const server = await startServer(dataDir, { CORS_TOKEN_ORIGINS: origin, RATE_LIMIT_BURST: '10000' });
  await admin(['user', 'create', ...USER, '--password', PASSWORD], dataDir);
  const client = await admin(
    [
      ...['oauth-client', 'create', '--owner', USER[3], '--name', 'Reading list', '--public'],
      ...['--grants', 'authorization_code refresh_token', '--scopes', 'posts:read users:read'],
      ...['--redirect-uri', `${origin}/`],
    ],
    dataDir,
  );
  const clientId: string = client.json.client_id;
  filled = [server.origin, clientId];
  const browser = await openBrowser(origin, { others: [server.origin] });
  onTestFinished(() => browser.close());
  return { origin, server, clientId, context: browser.context, page: await browser.context.newPage() };
}

const says = (page: Page, text: string) =>
  expect
    .poll(async () => {
      const status = await page.getByRole('status').textContent();
      return status || `nothing, but the problem ${await page.getByRole('alert').textContent()}`;
    })
    .toBe(text);

async function signIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('E-mail').fill(USER[3]);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
}

const refreshTokenIn = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<string>((resolve, reject) => {
        const opening = indexedDB.open('oauth');
        opening.onerror = () => reject(opening.error);
        opening.onsuccess = () => {
          const database = opening.result;
          const reading = database.transaction('oauth').objectStore('oauth').get('refresh-token');
          reading.onerror = () => reject(reading.error);
          reading.onsuccess = () => resolve(reading.result);
          database.close();
        };
      }),
  );

it('signs in, stays signed in over reloads in all tabs at once, and ends everything when it signs out', async () => {
  const { origin, server, clientId, context, page } = await start();
  await page.goto(origin);
  await says(page, 'Nobody is signed in.');
  await signIn(page);
  await says(page, 'Signed in as Grace.');
  expect(page.url()).toBe(`${origin}/`);
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);

  const first = await refreshTokenIn(page);
  const other = await context.newPage();
  await other.goto(origin);
  await says(other, 'Signed in as Grace.');
  expect(await refreshTokenIn(page)).not.toBe(first);
  // Each takes a new token with the one that the other has left.
  for (let left = 3; left > 0; left -= 1) {
    await Promise.all([page.reload(), other.reload()]);
    await Promise.all([says(page, 'Signed in as Grace.'), says(other, 'Signed in as Grace.')]);
  }

  const asked = page.waitForRequest(`${server.origin}/graphql`);
  await page.reload();
  const { authorization = '' } = (await asked).headers();
  const key = authorization.replace('Bearer ', '');
  await says(page, 'Signed in as Grace.');
  expect((await server.gql('{ viewer { name } }', { key })).data).toEqual({ viewer: { name: 'Grace' } });
  const last = await refreshTokenIn(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await says(page, 'Nobody is signed in.');
  await other.reload();
  await says(other, 'Nobody is signed in.');
  await expect
    .poll(async () => (await server.gql('{ viewer { name } }', { key })).errors?.[0]?.extensions.code)
    .toBe('UNAUTHENTICATED');
  const rejected = await fetch(`${server.origin}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: last, client_id: clientId }),
  });
  expect(await rejected.json()).toMatchObject({ error: 'invalid_grant' });
});

it('takes no code that it has not asked for, and says why nobody is signed in', async () => {
  const { origin, server, page } = await start();
  await page.goto(`${origin}/?code=stolen&state=guessed&iss=${encodeURIComponent(server.origin)}`);
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('was not begun here');
  await says(page, 'Nobody is signed in.');
  expect(page.url()).toBe(`${origin}/`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.waitForURL(`${origin}/`);
  await expect.poll(() => page.getByRole('alert').textContent()).not.toBe('');
  await says(page, 'Nobody is signed in.');
});
