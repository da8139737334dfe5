import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { violations } from '../support/processes/axe.ts';
import { openBrowser } from '../support/processes/browser.ts';
import {
  buildSite,
  EMAIL,
  type Site,
  signIn,
  startDevelopment,
  startSite,
  statusOf,
  titlesOf,
} from './ssr-site.ts';

const WRONG = 'The email address or the password is wrong.';

async function openSignedIn(site: Site): Promise<Page> {
  const context = await site.openBrowser();
  const page = await context.newPage();
  await page.goto(site.origin);
  await signIn(page);
  await expect.poll(() => statusOf(page)).toBe('live');
  return page;
}

/** Loads the page again, whose scripts come when the returned function is called. */
async function reloadWithoutScripts(page: Page) {
  const scripts = Promise.withResolvers<void>();
  const operations: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/graphql')) operations.push(request.postData() ?? '');
  });
  await page.route('**/*.js', async (route) => {
    await scripts.promise;
    await route.continue();
  });
  await page.reload({ waitUntil: 'commit' });
  return {
    /** What the page has asked the service for. */
    operations,
    hydrate: () => scripts.resolve(),
  };
}

/** A page of another site, with a link. */
async function startOtherSite(href: string): Promise<string> {
  const html = `<!doctype html><a href="${href}">Posts</a>`;
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(html);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('examples/ssr', () => {
  beforeAll(buildSite);

  it('renders the list with the session of the visitor, and follows it without a gap', async () => {
    const site = await startSite();
    await site.create('one', 'two');
    const page = await openSignedIn(site);
    const { operations, hydrate } = await reloadWithoutScripts(page);
    await expect.poll(() => titlesOf(page)).toEqual(['two', 'one']);
    await site.create('between');
    hydrate();
    await expect.poll(() => titlesOf(page)).toEqual(['between', 'two', 'one']);
    await expect.poll(() => statusOf(page)).toBe('live');
    await site.create('after');
    await expect.poll(() => titlesOf(page)).toEqual(['after', 'between', 'two', 'one']);
    expect(operations).toEqual([expect.stringContaining('subscription')]);

    await site.run('session', 'revoke', '--user', EMAIL);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it('loses nothing when the service restarts between rendering and hydration', async () => {
    const site = await startSite();
    await site.create('one');
    const page = await openSignedIn(site);
    const { operations, hydrate } = await reloadWithoutScripts(page);
    await expect.poll(() => titlesOf(page)).toEqual(['one']);
    await site.create('before');
    await site.kill();
    const response = await page.request.get(site.origin);
    expect([response.status(), response.headers()['retry-after']]).toEqual([503, '5']);
    hydrate();
    await expect.poll(() => statusOf(page)).toBe('reconnecting');
    expect(await titlesOf(page)).toEqual(['one']);
    await site.restart();
    await site.create('after');
    // Shortens the pause before the next attempt.
    await page.evaluate(() => dispatchEvent(new Event('online')));
    await expect.poll(() => titlesOf(page)).toEqual(['after', 'before', 'one']);
    expect(operations.filter((body) => !body.includes('subscription'))).toEqual([]);
  });

  it('locks out the visitor who enters wrong passwords, and no other', async () => {
    const site = await startSite();
    const pages: string[] = [];
    while (pages.length < 11) pages.push(await site.signInFrom('127.0.0.9', `${pages.length}@example.com`));
    for (const page of pages.slice(0, 10)) expect(page).toContain('password is wrong');
    expect(pages.at(-1)).toContain('Too many attempts');
    await openSignedIn(site);
    expect(await site.signInFrom('127.0.0.9', EMAIL)).toContain('Too many attempts');
  });

  it('shows the signed-in page to a visitor who follows a link on another site', async () => {
    const site = await startSite();
    await site.create('one');
    const other = await startOtherSite(`${site.origin}/?from=elsewhere`);
    const context = await site.openBrowser({ others: [other] });
    const page = await context.newPage();
    await page.goto(other);
    await page.getByRole('link').click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page);
    await expect.poll(() => titlesOf(page)).toEqual(['one']);

    await page.goto(other);
    await page.getByRole('link').click();
    await expect.poll(() => titlesOf(page)).toEqual(['one']);
    await expect.poll(() => statusOf(page)).toBe('live');
    expect(page.url()).toBe(`${site.origin}/?from=elsewhere`);
  });

  it('works without JavaScript, and creates one post when a form is sent twice', async () => {
    const site = await startSite();
    const context = await site.openBrowser({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(site.origin);
    await signIn(page, 'a wrong password');
    await page.getByText(WRONG).waitFor();
    expect(await page.getByLabel('E-mail').inputValue()).toBe(EMAIL);
    await signIn(page);
    await page.getByLabel('Title').fill('once');
    await page.getByLabel('Text').fill('Sent twice.');
    await page.getByRole('button', { name: 'Publish' }).click();
    await expect.poll(() => titlesOf(page)).toEqual(['once']);
    await page.reload();
    expect(await titlesOf(page)).toEqual(['once']);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it('is accessible and fits on a phone and on a wide screen', async () => {
    const site = await startSite();
    await site.create('Good taste in linked lists', 'A'.repeat(200));
    for (const [width, colorScheme] of [
      [390, 'dark'],
      [1280, 'light'],
    ] as const) {
      const context = await site.openBrowser();
      const page = await context.newPage();
      await page.setViewportSize({ width, height: 844 });
      await page.emulateMedia({ colorScheme });
      const look = async (state: string) => {
        expect(await violations(page), state).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth'), state).toBe(width);
      };
      await page.goto(site.origin);
      await signIn(page, 'a wrong password');
      await page.getByText(WRONG).waitFor();
      await look('sign-in');
      await signIn(page);
      await expect.poll(() => statusOf(page)).toBe('live');
      await look('posts');
    }
  });

  it('is developed with the commands of its page', async () => {
    const { origin, password } = await startDevelopment();
    const browser = await openBrowser(origin);
    onTestFinished(() => browser.close());
    const page = await browser.context.newPage();
    await page.goto(origin);
    await signIn(page, password);
    await expect.poll(() => statusOf(page)).toBe('live');
    await page.getByLabel('Title').fill('once');
    await page.getByLabel('Text').fill('Clicked twice.');
    await page.getByRole('button', { name: 'Publish' }).dblclick();
    await expect.poll(async () => (await titlesOf(page)).filter((title) => title === 'once')).toHaveLength(1);
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('');
  });
});
