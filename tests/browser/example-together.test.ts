import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openBrowser } from '../support/processes/browser.ts';
import { type Example, signIn, startExample, waitUntilLive } from '../support/processes/example.ts';
import { expectOpenStreams } from '../support/processes/live-tabs.ts';

const TITLE = 'Notes on the Analytical Engine';

/** The page in a browser of another person. */
async function openElsewhere({ url, api, password }: Example, name: string): Promise<Page> {
  const browser = await openBrowser(new URL(url).origin, { others: [api] });
  onTestFinished(browser.close);
  const page = await browser.context.newPage();
  await page.goto(url);
  await signIn(page, name, password);
  return page;
}

const comments = (page: Page) => page.locator('.comment-body').allTextContents();

async function expectTalk(pages: readonly Page[], texts: readonly string[]): Promise<void> {
  for (const page of pages) {
    await expect.poll(() => comments(page)).toEqual(texts);
    await page.getByRole('heading', { name: `Comments (${texts.length})` }).waitFor();
  }
}

async function comment(page: Page, text: string): Promise<void> {
  await page.getByLabel('Your comment').fill(text);
  await page.getByRole('button', { name: 'Comment', exact: true }).click();
}

async function change(page: Page, text: string, to: string): Promise<void> {
  const item = page.locator('.comment', { hasText: text });
  await item.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Edit comment').fill(to);
  await page.getByRole('button', { name: 'Save' }).click();
}

async function remove(page: Page, text: string): Promise<void> {
  const item = page.locator('.comment', { hasText: text });
  await item.getByRole('button', { name: 'Remove' }).click();
  await item.getByRole('button', { name: 'Remove comment' }).click();
}

describe('the example page in two tabs and a second browser', () => {
  it('shows comments, edits and deletions of others, also after the server was killed', async () => {
    const example = await startExample();
    const { openSignedIn, open, server, restart } = example;
    const first = await openSignedIn('Ada');
    const list = await open();
    const grace = await openElsewhere(example, 'Grace');
    const readers = [first, grace];
    for (const page of [first, list, grace]) await waitUntilLive(page);
    for (const page of readers) await page.getByRole('link', { name: TITLE }).click();
    const count = list.locator('.row', { hasText: TITLE });
    await expectTalk(readers, [
      'The footnotes of this one are where it all begins.',
      'Does it run?',
      'On paper, flawlessly.',
    ]);
    const seeded = await comments(first);

    await comment(grace, 'A word of Grace');
    await expectTalk(readers, [...seeded, 'A word of Grace']);
    await count.getByText('4 comments').waitFor();
    await change(grace, 'A word of Grace', 'A better word');
    await expectTalk(readers, [...seeded, 'A better word']);
    await comment(first, 'And one of Ada');
    await expectTalk(readers, [...seeded, 'A better word', 'And one of Ada']);
    await remove(grace, 'A better word');
    await expectTalk(readers, [...seeded, 'And one of Ada']);
    await count.getByText('4 comments').waitFor();

    server.kill('SIGKILL');
    await server.exited;
    for (const page of [first, list, grace]) await page.locator('[data-live=reconnecting]').waitFor();
    const again = await restart();
    // Sent as soon as there is an answer. The other browser hears of it once it has reconnected.
    await comment(first, 'After the fall');
    await expectTalk([first], [...seeded, 'And one of Ada', 'After the fall']);
    for (const page of [first, list, grace]) await page.evaluate(() => dispatchEvent(new Event('online')));
    await expectTalk(readers, [...seeded, 'And one of Ada', 'After the fall']);
    await change(first, 'After the fall', 'After the rise');
    await remove(first, 'And one of Ada');
    await expectTalk(readers, [...seeded, 'After the rise']);
    await count.getByText('4 comments').waitFor();
    for (const page of [first, list, grace]) await waitUntilLive(page);
    await expectOpenStreams(again, 2);

    // A post that is deleted takes nobody's words with it.
    await comment(grace, 'Words of Grace');
    await expectTalk(readers, [...seeded, 'After the rise', 'Words of Grace']);
    const own = grace.locator('.comment', { hasText: 'Words of Grace' });
    await own.getByRole('button', { name: 'Edit' }).click();
    // The focus goes where it is needed.
    await grace.keyboard.press('End');
    await grace.keyboard.type(', and more');
    await grace.getByLabel('Your comment').fill('Not sent yet');
    await first.getByRole('button', { name: 'Delete' }).click();
    await first.getByRole('button', { name: 'Delete post' }).click();
    await grace.getByText('This post does not exist. It may have been deleted.').waitFor();
    await grace.getByText('Not sent yet').waitFor();
    await grace.getByText('Words of Grace, and more').waitFor();
    expect(await grace.evaluate(() => document.activeElement?.tagName)).not.toBe('BODY');
    await grace.reload();
    await grace.getByText('Not sent yet').waitFor();
    await grace.getByText('Words of Grace, and more').waitFor();
    const discard = grace.getByRole('button', { name: 'Discard it' });
    for (const left of [1, 0]) {
      await discard.first().click();
      await expect.poll(() => discard.count()).toBe(left);
    }
    await expect.poll(() => count.count()).toBe(0);
  });
});
