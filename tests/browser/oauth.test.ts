import * as oauth from 'oauth4webapi';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scopesOfRole } from '../../src/auth/scopes.ts';
import { INSECURE, startApplication } from '../support/credentials/oauth-application.ts';
import { type BrowserOptions, openBrowser } from '../support/processes/browser.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { admin, startServer } from '../support/processes/server.ts';

const SETTINGS = { RATE_LIMIT_BURST: '10000' };
const USER = {
  name: 'Grace Hopper',
  email: 'grace.hopper@example.com',
  password: 'a password of the browser',
};
const SCOPES = scopesOfRole('member').join(' ');

/** A service with one user, an application of somebody else's, and a browser in front of its page. */
async function start(options: BrowserOptions = {}) {
  const dataDir = await migratedFolder();
  const server = await startServer(dataDir, SETTINGS);
  const application = await startApplication();
  const { name, email, password } = USER;
  await admin(['user', 'create', '--name', name, '--email', email, '--password', password], dataDir);
  const made = await admin(
    [
      ...['oauth-client', 'create', '--owner', email, '--name', 'Reading List', '--scopes', SCOPES],
      ...['--grants', 'authorization_code refresh_token', '--redirect-uri', application.redirectUri],
    ],
    dataDir,
  );
  expect(made.stderr).toBe('');
  const client: oauth.Client = { client_id: made.json.client_id };
  const authentication = oauth.ClientSecretBasic(made.json.client_secret);
  const begun = await application.begin(server.origin, client, SCOPES);
  const browser = await openBrowser(server.origin, {
    ...options,
    others: [application.origin, ...(options.others ?? [])],
  });
  onTestFinished(() => browser.close());
  const page = await browser.context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // Chromium reports every response past 400 here, that to a wrong password among them.
    if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
  });
  page.on('pageerror', ({ message }) => complaints.push(message));
  await page.goto(application.origin);
  return { server, application, client, authentication, begun, browser, page, complaints };
}

/** What is typed before a page has given the focus is lost. */
const awaitFocus = (page: Page, name: string) =>
  expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe(name);

const signIn = async (page: Page) => {
  await page.getByLabel('E-mail').fill(USER.email);
  await page.getByLabel('Password').fill(USER.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
};

describe('the pages of an authorization', () => {
  it('lead from an application through login and consent to tokens that any library gets', async () => {
    const { server, application, client, authentication, begun, browser, page, complaints } = await start();
    const { returns } = application;
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.title()).toContain('Sign in');

    // With the keyboard alone: the e-mail has the focus already.
    await awaitFocus(page, 'email');
    await page.keyboard.type(USER.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type('not the password of the browser');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('E-mail').inputValue()).toBe(USER.email);
    expect(await page.getByLabel('Password').inputValue()).toBe('');
    await awaitFocus(page, 'password');
    await page.keyboard.type(USER.password);
    await page.keyboard.press('Enter');

    await page.getByRole('heading', { name: 'Reading List' }).first().waitFor();
    await expect.poll(() => page.getByRole('listitem').count()).toBe(SCOPES.split(' ').length);
    await expect.poll(() => page.getByRole('main').innerText()).toContain(USER.email);
    await page.getByRole('button', { name: 'Allow' }).press('Enter');
    await expect.poll(() => returns.length).toBe(1);
    expect(complaints).toEqual([]);
    expect(browser.strayRequests).toEqual([]);

    const tokens = await begun.finish(returns[0] ?? new URL(application.origin), authentication);
    const viewer = await server.gql('{ viewer { name } }', { key: tokens.access_token });
    expect(viewer.data).toEqual({ viewer: { name: USER.name } });

    const refreshed = await oauth.processRefreshTokenResponse(
      begun.server,
      client,
      await oauth.refreshTokenGrantRequest(
        begun.server,
        client,
        authentication,
        tokens.refresh_token ?? '',
        INSECURE,
      ),
    );
    const introspect = async (token: string) =>
      oauth.processIntrospectionResponse(
        begun.server,
        client,
        await oauth.introspectionRequest(begun.server, client, authentication, token, INSECURE),
      );
    expect(await introspect(refreshed.access_token)).toMatchObject({ active: true, scope: SCOPES });
    const revoked = await oauth.revocationRequest(
      begun.server,
      client,
      authentication,
      refreshed.refresh_token ?? '',
      INSECURE,
    );
    await oauth.processRevocationResponse(revoked);
    expect(await introspect(refreshed.access_token)).toEqual({ active: false });

    // Signed in and allowed before: nothing is asked a second time.
    await page.goto(begun.authorizationUrl.href);
    await expect.poll(() => returns.length).toBe(2);
    expect(returns[1]?.searchParams.get('code')).toEqual(expect.any(String));
  });

  it('need no script, and take the user back where they say no', async () => {
    const { application, page, browser } = await start({ javaScriptEnabled: false });
    await page.getByRole('link', { name: 'Sign in' }).click();
    await signIn(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => application.returns.length).toBe(1);
    const { searchParams } = application.returns[0] ?? new URL(application.origin);
    expect(searchParams.get('error')).toBe('access_denied');
    expect(searchParams.has('state')).toBe(true);
    expect(searchParams.has('code')).toBe(false);
    expect(browser.strayRequests).toEqual([]);
  });

  it('let the application lead its user on from where they come back', async () => {
    const home = await startApplication();
    const { application, page, complaints } = await start({ others: [home.origin] });
    application.sendOn(`${home.origin}/welcome`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await signIn(page);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${home.origin}/welcome`);
    expect(application.returns[0]?.searchParams.has('code')).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('ask for no form again where the user goes back or loads a page again', async () => {
    const { page, application } = await start();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail').fill(USER.email);
    await page.getByLabel('Password').fill('not the password of the browser');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    const attempts: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && attempts.push(request.url()));
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await signIn(page);
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    attempts.length = 0;

    // A page that is the response to a form is "Confirm Form Resubmission" here (ERR_CACHE_MISS).
    await page.goBack();
    await page.getByRole('heading', { name: 'Reading List' }).first().waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Reading List' }).first().waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Reading List' }).first().waitFor();
    await page.goForward();
    await page.getByRole('button', { name: 'Allow' }).click();
    await expect.poll(() => application.returns.length).toBe(1);
    expect(attempts.every((url) => url.endsWith('/allow'))).toBe(true);
    expect(application.returns[0]?.searchParams.has('code')).toBe(true);
  });
});
