import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  movePointerAway,
  signIn,
  startExample,
  titlesOf,
  waitUntilLive,
} from '../support/processes/example.ts';
import { createPosts, openStreams } from '../support/processes/live-tabs.ts';

const WAIT = { timeout: 120_000 };

const topOf = (page: Page, count: number) => async () => (await titlesOf(page)).slice(0, count);

const spoken = (page: Page) => page.locator('#announcements').textContent();

describe('the live list of the example page', { timeout: 300_000 }, () => {
  it('fills in eight tabs over one stream, and each has every post once', async () => {
    const { openSignedIn, open, server, key } = await startExample();
    const first = await openSignedIn();
    const tabs = [first];
    for (let index = 1; index < 8; index += 1) tabs.push(await open());
    for (const tab of tabs) await waitUntilLive(tab);
    expect(await openStreams(server)).toBe(1);
    await createPosts(server, key, ['one', 'two', 'three']);
    for (const tab of tabs) {
      await expect.poll(topOf(tab, 3), WAIT).toEqual(['three', 'two', 'one']);
      const titles = await titlesOf(tab);
      expect(new Set(titles).size).toBe(titles.length);
    }
  });

  it('has the post that was written after the list was read and before the stream began', async () => {
    const { open, context, server, key, password } = await startExample();
    const page = await open();
    let isRead = false;
    const isCreated = Promise.withResolvers<void>();
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
    await signIn(page, 'Ada', password);
    await expect.poll(topOf(page, 2)).toEqual(['in between', 'Good taste in linked lists']);
  });

  it('moves nothing under a reader, and says how many posts are new', async () => {
    const { openSignedIn, server, key } = await startExample();
    const page = await openSignedIn('Grace');
    await waitUntilLive(page);
    const link = page.getByRole('link', { name: 'On loops' });
    await link.focus();
    const before = await titlesOf(page);
    await createPosts(server, key, ['one', 'two']);
    const button = page.getByRole('button', { name: '2 new posts' });
    await button.waitFor();
    expect(await spoken(page)).toBe('New post by Ada: two');
    expect(await titlesOf(page)).toEqual(before);
    expect(await link.evaluate((element) => element === document.activeElement)).toBe(true);
    await button.press('Enter');
    expect(await topOf(page, 2)()).toEqual(['two', 'one']);
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('two');

    // Only posts with the tag come into a list of that tag.
    await page.getByRole('link', { name: 'computing' }).first().click();
    await page.getByRole('heading', { name: 'Posts tagged “computing”' }).waitFor();
    await page.getByRole('link', { name: 'On loops' }).waitFor();
    await movePointerAway(page);
    await createPosts(server, key, ['without a tag']);
    const tagged = 'mutation { createPost(title: "tagged", body: "b", tags: ["computing"]) { id } }';
    await server.gql(tagged, { key });
    await expect.poll(topOf(page, 2)).toEqual(['tagged', 'On loops']);
  });

  it.each(['own', 'other'] as const)(
    'goes on without loss after the server was killed, from its %s origin',
    async (from) => {
      const { openSignedIn, open, server, key, restart } = await startExample(from);
      const page = await openSignedIn();
      const other = await open();
      for (const tab of [page, other]) await waitUntilLive(tab);
      await createPosts(server, key, ['before']);
      for (const tab of [page, other]) await expect.poll(topOf(tab, 1)).toEqual(['before']);
      server.kill('SIGKILL');
      await server.exited;
      for (const tab of [page, other]) {
        await tab.locator('[data-live=reconnecting]').getByText('No connection. Next try in').waitFor();
      }
      const again = await restart();
      await createPosts(again, key, ['while it was away', 'and another']);
      const live = page.getByText('Back again, no post was missed');
      // The pause before the next try may be long. A person would click, too.
      const tryNow = page.getByRole('button', { name: 'Try now' });
      await expect
        .poll(async () => {
          if (await tryNow.isVisible()) await tryNow.click({ timeout: 1_000 }).catch(() => undefined);
          return live.isVisible();
        }, WAIT)
        .toBe(true);
      for (const tab of [page, other]) {
        await waitUntilLive(tab);
        await expect.poll(topOf(tab, 3)).toEqual(['and another', 'while it was away', 'before']);
      }
    },
  );
});
