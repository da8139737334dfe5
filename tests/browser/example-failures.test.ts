import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { postsTitled, signIn, startExample, waitUntilLive } from '../support/processes/example.ts';

const WAIT = { timeout: 120_000 };

async function fillPost(page: Page, title: string): Promise<void> {
  await page.getByRole('link', { name: 'Write' }).click();
  await page.getByLabel('Title').fill(title);
  await page.getByLabel('Text').fill('Some text.');
}

const publish = (page: Page) => page.getByRole('button', { name: 'Publish' }).click();

const isMutation = (route: Route) => route.request().postData()?.includes('mutation') === true;

describe('the example page when something fails', { timeout: 300_000 }, () => {
  it('makes one post of attempts whose response is lost', async () => {
    const { openSignedIn, server, key } = await startExample();
    const page = await openSignedIn();
    const keys: (string | undefined)[] = [];
    await page.route('**/graphql', async (route) => {
      if (!isMutation(route)) return route.continue();
      keys.push(route.request().headers()['idempotency-key']);
      const response = await route.fetch();
      return keys.length <= 2 ? route.abort('connectionreset') : route.fulfill({ response });
    });
    await fillPost(page, 'Answered late');
    await publish(page);
    await page.getByText('No answer yet. Your text is kept and sent again in').waitFor();
    await page.getByRole('heading', { name: 'Answered late' }).waitFor();
    expect(keys).toEqual([keys[0], keys[0], keys[0]]);
    expect(await postsTitled(server, key, 'Answered late')).toBe(1);
  });

  it('keeps the text and its key over a reload while the server is away, and makes one post', async () => {
    const { openSignedIn, server, key, restart } = await startExample();
    const page = await openSignedIn();
    await fillPost(page, 'Written offline');
    const keys = new Set<string | undefined>();
    page.on('request', (request) => {
      if (request.postData()?.includes('mutation')) keys.add(request.headers()['idempotency-key']);
    });
    let isKilled = false;
    // The first attempt is carried out, and the server is killed before its response arrives.
    await page.route('**/graphql', async (route) => {
      if (!isMutation(route) || isKilled) return route.continue();
      await route.fetch();
      isKilled = true;
      server.kill('SIGKILL');
      await server.exited;
      return route.abort('connectionreset');
    });
    await publish(page);
    await page.getByText('No answer yet. Your text is kept and sent again in').waitFor();
    const again = await restart();
    await page.reload();
    await expect.poll(() => page.getByLabel('Title').inputValue(), WAIT).toBe('Written offline');
    expect(await page.getByLabel('Text').inputValue()).toBe('Some text.');
    await publish(page);
    await page.getByRole('heading', { name: 'Written offline' }).waitFor();
    expect(keys.size).toBe(1);
    expect(await postsTitled(again, key, 'Written offline')).toBe(1);
  });

  it('says how long to wait after 429, and goes on by itself', async () => {
    const limits = { RATE_LIMIT_BURST: '8', RATE_LIMIT_PER_SECOND: '1', FAILURE_BURST: '2' };
    const { openSignedIn, open, api } = await startExample('own', limits);
    const page = await openSignedIn();
    await waitUntilLive(page);
    // Another application of the same person takes all that is left.
    await page.evaluate(async (url) => {
      const ask = () =>
        fetch(url, {
          method: 'POST',
          body: '{"query":"{__typename}"}',
          headers: { 'content-type': 'application/json' },
        });
      while ((await ask()).status !== 429);
    }, `${api}/graphql`);
    await page.getByRole('link', { name: 'On loops' }).click();
    const notice = page.locator('[data-problem=rate-limited]');
    await notice.getByText(/Too many requests. Goes on by itself in\s+\d+ s/).waitFor();
    await page.getByRole('heading', { name: 'No comments yet' }).waitFor();
    expect(await notice.count()).toBe(0);

    await page.getByRole('button', { name: 'Sign out' }).click();
    const form = await open();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await form.getByLabel('E-mail').fill('nobody@example.com');
      await form.getByLabel('Password').fill(`wrong number ${attempt}`);
      await form.getByRole('button', { name: 'Sign in' }).click();
      await form.getByRole('alert').waitFor();
    }
    await form.getByText(/Too many attempts. Try again in\s+\d+ s/).waitFor();
    expect(await form.getByRole('button', { name: 'Sign in' }).isDisabled()).toBe(true);
  });

  it('leads to the form when the session has ended, and keeps what was typed for the same person', async () => {
    const { openSignedIn, server, key, password, context } = await startExample();
    const page = await openSignedIn();
    await fillPost(page, 'Ada writes this');
    await context.clearCookies();
    await publish(page);
    await page.getByRole('main').getByText('Your session has ended. Sign in to go on').waitFor();
    // Somebody else signs in: the text is not theirs.
    await signIn(page, 'Grace', password);
    await page.getByRole('heading', { name: 'New post' }).waitFor();
    expect(await page.getByLabel('Title').inputValue()).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, 'Ada', password);
    expect(await page.getByLabel('Title').inputValue()).toBe('Ada writes this');
    await publish(page);
    await page.getByRole('heading', { name: 'Ada writes this' }).waitFor();
    expect(await postsTitled(server, key, 'Ada writes this')).toBe(1);
  });

  it('follows another tab that signs out, and that signs in as somebody else', async () => {
    const { openSignedIn, open, password } = await startExample();
    const page = await openSignedIn();
    const other = await open('#/new');
    await other.getByLabel('Title').fill('For Ada only');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await other.getByRole('main').getByText('You have signed out in another tab.').waitFor();
    await signIn(page, 'Grace', password);
    await other.getByRole('main').getByText('You are now signed in as Grace').waitFor();
    expect(await other.getByLabel('Title').inputValue()).toBe('');
    await waitUntilLive(page);
  });
});
