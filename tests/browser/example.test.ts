import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  type PageOrigin,
  postsTitled,
  startExample,
  titlesOf,
  waitUntilLive,
} from '../support/processes/example.ts';
import { createPosts } from '../support/processes/posts.ts';

const ORIGINS: readonly PageOrigin[] = ['own', 'other'];

const write = async (page: Page, title: string, body: string, tags = '') => {
  await page.getByRole('link', { name: 'New post' }).click();
  await page.getByLabel('Title').fill(title);
  await page.getByLabel('Text').fill(body);
  await page.getByLabel('Tags').fill(tags);
};

describe.each(ORIGINS)('the example page from its %s origin', (from) => {
  it('shows every post once, page by page, while others are written', async () => {
    const { openSignedIn, server, key } = await startExample(from);
    const titles = Array.from({ length: 24 }, (_, index) => `post ${index}`);
    await createPosts(server, key, titles);
    const page = await openSignedIn();
    await waitUntilLive(page);
    await expect.poll(() => page.locator('.posts h2').count()).toBe(10);
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await expect.poll(() => page.locator('.posts h2').count()).toBe(20);
    // The keyboard goes on at the first of them.
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('post 13');
    await createPosts(server, key, ['late 0', 'late 1', 'late 2']);
    await page.getByRole('button', { name: '3 new posts' }).waitFor();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByText('These are all posts.').waitFor();
    expect((await titlesOf(page)).slice(0, 3)).toEqual(['post 23', 'post 22', 'post 21']);
    await page.getByRole('button', { name: '3 new posts' }).click();
    await expect
      .poll(async () => (await titlesOf(page)).slice(0, 4))
      .toEqual(['late 2', 'late 1', 'late 0', 'post 23']);
    const { data } = await server.gql('{ posts(limit: 100) { title } }', { key });
    const stored = (data as { posts: { title: string }[] }).posts.map(({ title }) => title);
    expect(await titlesOf(page)).toEqual(stored);
  });

  it('signs in, writes a post once however often the button is clicked, comments, edits, deletes and signs out', async () => {
    const { open, password, server, key, browser } = await startExample(from);
    const page = await open();
    await page.getByLabel('E-mail').fill('ada@example.com');
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('The email address or the password is wrong.').waitFor();
    // What was typed is still there.
    expect(await page.getByLabel('E-mail').inputValue()).toBe('ada@example.com');
    await page.getByLabel('Password').fill(password);
    await page.getByLabel('Password').press('Enter');
    await page.getByRole('heading', { name: 'Posts', exact: true }).waitFor();

    await write(page, '', 'Text that must not get lost.');
    await page.getByRole('button', { name: 'Publish' }).click();
    const title = page.getByLabel('Title');
    await expect.poll(() => title.getAttribute('aria-invalid')).toBe('true');
    await page.getByText('Title must be 1 to 200 characters long').first().waitFor();
    await expect.poll(() => title.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await page.getByLabel('Text').inputValue()).toBe('Text that must not get lost.');

    await title.fill('Written once');
    await page.getByLabel('Tags').fill('one, two');
    await page.getByRole('button', { name: 'Publish' }).dblclick();
    await page.getByRole('heading', { name: 'Written once' }).waitFor();
    await expect.poll(() => page.title()).toBe('Written once – Content Graph API');
    await page.getByLabel('Your comment').fill('First!');
    await page.getByRole('button', { name: 'Comment' }).dblclick();
    await page.getByRole('heading', { name: 'Comments (1)' }).waitFor();
    expect(await page.locator('.comment-body').allTextContents()).toEqual(['First!']);
    expect(await page.getByLabel('Your comment').inputValue()).toBe('');
    expect(await postsTitled(server, key, 'Written once')).toBe(1);

    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Title').fill('Written twice');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Written twice' }).waitFor();
    expect(await page.locator('.tag').allTextContents()).toEqual(['one', 'two']);
    await page.getByRole('link', { name: 'All posts' }).click();
    await expect.poll(async () => (await titlesOf(page))[0]).toBe('Written twice');

    await page.getByRole('link', { name: 'Written twice' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Keep it' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete post' }).click();
    await page.getByRole('heading', { name: 'Posts', exact: true }).waitFor();
    expect(await titlesOf(page)).not.toContain('Written twice');
    expect(await postsTitled(server, key, 'Written twice')).toBe(0);

    await page.reload();
    await waitUntilLive(page);
    // The service rejects the stream before the page knows that the logout was answered.
    await page.route('**/logout', async (route) => {
      const response = await route.fetch();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await route.fulfill({ response });
    });
    const responded = page.waitForResponse('**/logout');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('main').getByText('You are signed out.').waitFor();
    await responded;
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(browser.strayRequests).toEqual([]);
  });
});
