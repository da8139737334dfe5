import { describe, expect, it } from 'vitest';
import { createPosts, expectOpenStreams, startLiveTabs, type Tab } from '../support/processes/live-tabs.ts';
import { until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `post ${index}`);

async function expectTitles(tabs: readonly Tab[], titles: readonly string[]): Promise<void> {
  for (const tab of tabs) await expect.poll(tab.titles).toEqual(titles);
}

/** A busy machine may interrupt a stream: it is resumed, and nothing is lost. */
async function expectWhole(tabs: readonly Tab[]): Promise<void> {
  for (const tab of tabs) {
    await expect.poll(async () => (await tab.statuses()).at(-1)).toBe('live');
    const statuses = await tab.statuses();
    expect(statuses[0]).toBe('live');
    for (const status of ['missedEvents', 'closed']) expect(statuses).not.toContain(status);
  }
}

describe('tabs with examples/live.ts', () => {
  it('share one stream, and each shows every post once, in order', async () => {
    const { server, key, open, openLiveTabs } = await startLiveTabs();
    const tabs = await openLiveTabs(8);
    const titles = numbered(20);
    await createPosts(server, key, titles);
    await expectTitles(tabs, titles);
    await expectOpenStreams(server, 1);
    await expectWhole(tabs);

    const late = await open();
    await expectWhole([late]);
    await createPosts(server, key, ['later']);
    await expectTitles([late, ...tabs], [...titles, 'later']);
    for (const tab of [late, ...tabs]) await tab.close();
    await expectOpenStreams(server, 0);
  });

  it.each(['closed', 'crashed'])('lose nothing when the one that reads the stream is %s', async (how) => {
    const { server, key, context, openLiveTabs, askedForStream } = await startLiveTabs();
    const tabs = await openLiveTabs(8);
    const leader = askedForStream.at(-1);
    if (leader === undefined) throw new Error('no tab has asked for a stream');
    const gone = new Set([leader]);
    for (const { page } of tabs) page.on('crash', () => gone.add(page));
    const titles: string[] = [];
    let isGone = false;
    // Some before it goes, those that come while it goes, and some after.
    const creating = (async () => {
      for (let after = 0; after < 20; after += isGone ? 1 : 0) {
        const title = `post ${titles.length}`;
        await createPosts(server, key, [title]);
        titles.push(title);
      }
    })();
    await until('some posts', () => titles.length >= 20);
    if (how === 'closed') await leader.close();
    else {
      const crash = leader.waitForEvent('crash');
      const devtools = await context.newCDPSession(leader);
      // Nobody is left to answer the command.
      devtools.send('Page.crash').catch(() => undefined);
      await crash;
    }
    isGone = true;
    await creating;
    // Tabs that shared a process with the leader have crashed with it.
    const others = tabs.filter(({ page }) => !gone.has(page));
    expect(others.length).toBeGreaterThan(1);
    await expectTitles(others, titles);
    for (const tab of others) {
      await expect.poll(tab.statuses).toContain('resumed');
      expect(await tab.states()).toContainEqual(expect.objectContaining({ reason: 'leaderChange' }));
    }
    await expectWhole(others);
    await expectOpenStreams(server, 1);
  });

  it('say that they reconnect and then resume, over a server that is killed', async () => {
    const { server, key, openLiveTabs, restart } = await startLiveTabs();
    const tabs = await openLiveTabs(8);
    await createPosts(server, key, ['one', 'two']);
    await expectTitles(tabs, ['one', 'two']);
    server.kill('SIGKILL');
    await server.exited;
    for (const tab of tabs) await expect.poll(tab.statuses).toContain('reconnecting');
    const again = await restart();
    // Any tab can end the pause, which grows to half a minute.
    await tabs.at(-1)?.retry();
    await createPosts(again, key, ['three', 'four']);
    await expectTitles(tabs, ['one', 'two', 'three', 'four']);
    for (const tab of tabs) {
      await expect.poll(async () => (await tab.statuses()).slice(-2)).toEqual(['resumed', 'live']);
      expect(await tab.statuses()).not.toContain('missedEvents');
      const broken = expect.objectContaining({ status: 'reconnecting', reason: 'network' });
      expect(await tab.states()).toContainEqual(broken);
    }
    await expectOpenStreams(again, 1);
  });

  it('go on without the one that its user has left, and it shows what it has missed when the user goes back', async () => {
    const { server, key, openLiveTabs, askedForStream } = await startLiveTabs();
    const tabs = await openLiveTabs(3);
    await createPosts(server, key, ['one']);
    await expectTitles(tabs, ['one']);
    const [left] = askedForStream;
    if (left === undefined) throw new Error('no tab has asked for a stream');
    await left.goto(`${new URL(left.url()).origin}/elsewhere`);
    const others = tabs.filter(({ page }) => page !== left);
    for (const tab of others) await expect.poll(tab.statuses).toContain('resumed');
    await createPosts(server, key, ['two', 'three']);
    await expectTitles(others, ['one', 'two', 'three']);
    await left.goBack({ waitUntil: 'commit' });
    await expectTitles(tabs, ['one', 'two', 'three']);
    await createPosts(server, key, ['four']);
    await expectTitles(tabs, ['one', 'two', 'three', 'four']);
    for (const tab of tabs) expect(await tab.statuses()).not.toContain('missedEvents');
    await expectOpenStreams(server, 1);
  });

  it('follow edits and deletions, in the pages that they have read', async () => {
    const { server, key, openLiveTabs, dataDir } = await startLiveTabs();
    const titles = numbered(12);
    await createPosts(server, key, titles);
    const tabs = await openLiveTabs(2, { headers: { authorization: `Bearer ${key}` }, first: 5 });
    const [first] = tabs;
    await expectTitles(tabs, titles.slice(7));
    await first?.more();
    await expectTitles(tabs.slice(0, 1), titles.slice(2));
    const { items = [] } = (await first?.list()) ?? {};
    const idOf = (title: string) => items.find((post) => post.title === title)?.id;
    const change = async (text: string) =>
      expect((await server.gql(`mutation { ${text} }`, { key })).errors).toBeUndefined();
    await change(`updatePost(id: "${idOf('post 11')}", title: "edited") { id }`);
    await change(`updatePost(id: "${idOf('post 2')}", title: "edited too") { id }`);
    await change(`deletePost(id: "${idOf('post 7')}")`);
    const left = ['post 8', 'post 9', 'post 10', 'edited'];
    const early = ['edited too', 'post 3', 'post 4', 'post 5', 'post 6'];
    await expectTitles(tabs.slice(0, 1), [...early, ...left]);
    await expectTitles(tabs.slice(1), left);
    // Read again, in whole pages, at least as far as before.
    await admin(['event-log', 'reset'], dataDir);
    await change(`deletePost(id: "${idOf('post 9')}")`);
    await createPosts(server, key, ['new']);
    for (const tab of tabs) await expect.poll(tab.statuses).toContain('missedEvents');
    const now = left.filter((title) => title !== 'post 9');
    await expectTitles(tabs.slice(0, 1), ['post 1', ...early, ...now, 'new']);
    await first?.more();
    await expectTitles(tabs.slice(0, 1), ['post 0', 'post 1', ...early, ...now, 'new']);
  });

  it('that were frozen show what has happened meanwhile', async () => {
    const { server, key, openLiveTabs } = await startLiveTabs();
    const tabs = await openLiveTabs(2);
    // What Chromium sends before a page in the background stands still, and when it goes on.
    const send = async (name: 'freeze' | 'resume') => {
      for (const { page } of tabs)
        await page.evaluate((type) => document.dispatchEvent(new Event(type)), name);
    };
    await send('freeze');
    await expectOpenStreams(server, 0);
    await createPosts(server, key, ['one', 'two']);
    await send('resume');
    await expectTitles(tabs, ['one', 'two']);
    await expectOpenStreams(server, 1);
  });

  it('of different identities share nothing', async () => {
    const { server, key, openLiveTabs } = await startLiveTabs();
    const headers = { authorization: `Bearer ${key}` };
    const ada = await openLiveTabs(2, { headers, identity: 'ada' });
    const grace = await openLiveTabs(2, { headers, identity: 'grace' });
    await expectOpenStreams(server, 2);
    await createPosts(server, key, ['one']);
    await expectTitles([...ada, ...grace], ['one']);
  });

  it('have a stream each where the browser has no Web Locks', async () => {
    const { server, key, context, openLiveTabs } = await startLiveTabs();
    await context.addInitScript('delete Navigator.prototype.locks');
    const tabs = await openLiveTabs(2);
    await expectOpenStreams(server, 2);
    await createPosts(server, key, ['one', 'two']);
    await expectTitles(tabs, ['one', 'two']);
  });
});
