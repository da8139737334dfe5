import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  announcedIn,
  type Example,
  movePointerAway,
  signIn,
  startExample,
  titlesOf,
  waitUntilLive,
} from '../support/processes/example.ts';
import { createPosts, expectOpenStreams } from '../support/processes/posts.ts';

const topOf = (page: Page, count: number) => async () => (await titlesOf(page)).slice(0, count);

/** Kills the server, writes posts once it is back, and waits until every tab has them. */
async function expectResumed(tabs: readonly Page[], { server, key, restart }: Example): Promise<void> {
  server.kill('SIGKILL');
  await server.exited;
  for (const tab of tabs)
    await tab.locator('[data-live=reconnecting]').getByText('No connection. Next try in').waitFor();
  const again = await restart();
  await createPosts(again, key, ['while it was away', 'and another']);
  // The pause before the next try may be long. A person may click, in any tab.
  const tryNow = tabs.at(-1)?.getByRole('button', { name: 'Try now' });
  if (await tryNow?.isVisible()) await tryNow?.click({ timeout: 1_000 }).catch(() => undefined);
  for (const tab of tabs) {
    await expect.poll(() => announcedIn(tab)).toContain('Live again. Nothing was missed.');
    await expect.poll(topOf(tab, 3)).toEqual(['and another', 'while it was away', 'before']);
    await waitUntilLive(tab);
  }
  await expectOpenStreams(again, 1);
}

describe('the live list of the example page', () => {
  it('fills in eight tabs over one stream, and goes on without loss after the server was killed', async () => {
    const example = await startExample();
    const { openSignedIn, open, server, key } = example;
    const tabs = [await openSignedIn()];
    while (tabs.length < 8) tabs.push(await open());
    for (const tab of tabs) await waitUntilLive(tab);
    await expectOpenStreams(server, 1);
    await createPosts(server, key, ['one', 'two', 'before']);
    for (const tab of tabs) {
      await expect.poll(topOf(tab, 3)).toEqual(['before', 'two', 'one']);
      const titles = await titlesOf(tab);
      expect(new Set(titles).size).toBe(titles.length);
    }
    await expectResumed(tabs, example);
  });

  it('goes on without loss after the server was killed, from another origin', async () => {
    const example = await startExample('other');
    const tabs = [await example.openSignedIn(), await example.open()];
    for (const tab of tabs) await waitUntilLive(tab);
    await createPosts(example.server, example.key, ['before']);
    for (const tab of tabs) await expect.poll(topOf(tab, 1)).toEqual(['before']);
    await expectResumed(tabs, example);
  });

  it('moves nothing under a reader, and misses nothing between its first page and its stream', async () => {
    const { open, context, server, key, password } = await startExample();
    const page = await open();
    const isCreated = Promise.withResolvers<void>();
    let isRead = false;
    await context.route('**/graphql', async (route) => {
      const body = route.request().postData() ?? '';
      if (body.includes('subscription')) {
        await isCreated.promise;
        return route.continue();
      }
      if (isRead) return route.continue();
      isRead = true;
      const response = await route.fetch();
      await createPosts(server, key, ['in between']);
      isCreated.resolve();
      await waitUntilLive(page);
      return route.fulfill({ response });
    });
    await signIn(page, 'Grace', password);
    await expect.poll(topOf(page, 2)).toEqual(['in between', 'Good taste in linked lists']);

    const link = page.getByRole('link', { name: 'On loops' });
    await link.focus();
    const before = await titlesOf(page);
    // One after the other: of two that come at once, only the last is said.
    for (const title of ['one', 'two']) {
      await createPosts(server, key, [title]);
      await expect.poll(async () => (await announcedIn(page)).at(-1)).toBe(`New post by Ada: ${title}`);
    }
    const button = page.getByRole('button', { name: '2 new posts' });
    await button.waitFor();
    expect(await titlesOf(page)).toEqual(before);
    expect(await link.evaluate((element) => element === document.activeElement)).toBe(true);
    await button.press('Enter');
    await expect.poll(topOf(page, 2)).toEqual(['two', 'one']);
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('two');

    // Only posts with the tag come into a list of that tag.
    await page.getByRole('link', { name: 'computing' }).first().click();
    await page.getByRole('heading', { name: 'Posts tagged “computing”' }).waitFor();
    await expect.poll(topOf(page, 1)).toEqual(['On loops']);
    await movePointerAway(page);
    await createPosts(server, key, ['without a tag']);
    const tagged = 'mutation { createPost(title: "tagged", body: "b", tags: ["computing"]) { id } }';
    await server.gql(tagged, { key });
    await expect.poll(topOf(page, 2)).toEqual(['tagged', 'On loops']);
  });
});
