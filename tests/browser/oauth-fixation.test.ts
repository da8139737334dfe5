import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Cookie, Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { startApplication } from '../support/credentials/oauth-application.ts';
import { type Browser, openBrowser } from '../support/processes/browser.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';

import { admin, startServer } from '../support/processes/server.ts';

const GRACE = {
  name: 'Grace Hopper',
  email: 'grace.hopper@example.com',
  password: 'a password of the browser',
};

/** A host beside the service's, under the same domain: whoever goes there gets these cookies for the whole domain. */
async function startSibling(cookies: readonly Cookie[]): Promise<string> {
  const lines = cookies.map(
    ({ name, value, path }) => `${name}=${value}; Domain=app.localhost; Path=${path}; Secure; SameSite=Lax`,
  );
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': lines }).end('<h1>Planted</h1>');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://evil.app.localhost:${(server.address() as AddressInfo).port}`;
}

/** The service at one subdomain, and an authorization that Mallory's browser has begun there. */
async function begin() {
  const dataDir = await migratedFolder();
  const port = await freePort();
  const origin = `http://api.app.localhost:${port}`;
  await startServer(dataDir, { PORT: String(port), PUBLIC_URL: origin });
  const application = await startApplication();
  const { name, email, password } = GRACE;
  await admin(['user', 'create', '--name', name, '--email', email, '--password', password], dataDir);
  const { json } = await admin(
    [
      ...['oauth-client', 'create', '--owner', email, '--name', 'Reading List', '--scopes', 'posts:read'],
      ...['--grants', 'authorization_code', '--redirect-uri', application.redirectUri],
    ],
    dataDir,
  );
  const asked = new URL('/oauth/authorize', origin);
  asked.search = new URLSearchParams({
    response_type: 'code',
    client_id: json.client_id,
    redirect_uri: application.redirectUri,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  }).toString();
  const mallory = await openBrowser(origin, { others: [application.origin] });
  onTestFinished(() => mallory.close());
  const mallorysPage = await mallory.context.newPage();
  await mallorysPage.goto(asked.href);
  await mallorysPage.getByRole('heading', { name: 'Sign in' }).waitFor();
  const cookies = await mallory.context.cookies(origin);
  expect(cookies).not.toEqual([]);
  return { origin, application, mallory, mallorysPage, cookies, page: mallorysPage.url() };
}

async function victim(origin: string, others: readonly string[]): Promise<{ browser: Browser; page: Page }> {
  const browser = await openBrowser(origin, { others });
  onTestFinished(() => browser.close());
  return { browser, page: await browser.context.newPage() };
}

const signIn = async (page: Page) => {
  await page.getByLabel('E-mail').fill(GRACE.email);
  await page.getByLabel('Password').fill(GRACE.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
};

it('cookies of a sibling domain lead nobody into an authorization that another browser has begun', async () => {
  const { origin, application, mallorysPage, cookies, page } = await begin();
  const sibling = await startSibling(cookies);
  const grace = await victim(origin, [application.origin, sibling]);
  await grace.page.goto(sibling);
  await grace.page.getByRole('heading', { name: 'Planted' }).waitFor();
  await grace.page.goto(page);
  await grace.page.getByRole('heading').first().waitFor();
  expect(await grace.page.getByRole('main').innerText()).toContain('another browser');
  expect(await grace.page.getByLabel('Password').count()).toBe(0);
  await mallorysPage.goto(page);
  expect(await mallorysPage.getByRole('main').innerText()).not.toContain('Grace');
});

it('an authorization in two browsers is of the one that holds the session, to its end', async () => {
  const { origin, application, mallory, mallorysPage, cookies, page } = await begin();
  const grace = await victim(origin, [application.origin]);
  // As if they could be planted after all.
  await grace.browser.context.addCookies(cookies);
  await grace.page.goto(page);
  await signIn(grace.page);
  await grace.page.getByRole('button', { name: 'Allow' }).waitFor();

  await mallorysPage.goto(page);
  expect(await mallorysPage.getByRole('main').innerText()).not.toContain('Grace');
  expect(await mallorysPage.getByLabel('Password').count()).toBe(1);

  // What Grace allows is stopped on its way back, and Mallory's browser tries to go it instead.
  let resume = '';
  await grace.page.route('**/allow', async (route) => {
    // Sent in the browser's name, whose redirects nothing can stop.
    const request = route.request();
    const { cookie = '', origin: from = '' } = await request.allHeaders();
    const to = new URL(request.url());
    to.hostname = '127.0.0.1';
    const answer = await fetch(to, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, origin: from, 'content-type': 'application/x-www-form-urlencoded' },
      body: request.postData(),
    });
    resume = new URL(answer.headers.get('location') ?? '', origin).href;
    await route.fulfill({ status: 200, contentType: 'text/html', body: 'stopped' });
  });
  await grace.page.getByRole('button', { name: 'Allow' }).click();
  await expect.poll(() => resume).not.toBe('');
  await mallorysPage.goto(resume);
  expect(await mallorysPage.getByLabel('Password').count()).toBe(1);
  expect(application.returns).toEqual([]);
  expect(mallory.strayRequests).toEqual([]);

  await grace.page.goto(resume);
  await expect.poll(() => application.returns.length).toBe(1);
  expect(application.returns[0]?.searchParams.has('code')).toBe(true);
});
