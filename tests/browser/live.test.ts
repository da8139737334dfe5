import { describe, expect, it } from 'vitest';
import { createPosts, openStreams, startLiveTabs, type Tab } from '../support/processes/live-tabs.ts';
import { until } from '../support/processes/process.ts';

const WAIT = { timeout: 120_000 };

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `post ${index}`);

async function expectTitles(tabs: readonly Tab[], titles: readonly string[]): Promise<void> {
  for (const tab of tabs) await expect.poll(tab.titles, WAIT).toEqual(titles);
}

describe('tabs with examples/live.ts', { timeout: 300_000 }, () => {
  it('share one stream, and each shows every event once, in order', async () => {
    const { server, key, open, openLiveTabs } = await startLiveTabs();
    const tabs = await openLiveTabs(8);
    const titles = numbered(20);
    await createPosts(server, key, titles);
    await expectTitles(tabs, titles);
    expect(await openStreams(server)).toBe(1);
    for (const tab of tabs) expect(await tab.statuses()).toEqual(['live']);

    // A tab that comes later begins where the others are.
    const late = await open();
    await expect.poll(late.statuses, WAIT).toEqual(['live']);
    await createPosts(server, key, ['later']);
    await expectTitles([late], ['later']);
    await expectTitles(tabs, [...titles, 'later']);
    for (const tab of [late, ...tabs]) await tab.close();
    await expect.poll(() => openStreams(server), WAIT).toBe(0);
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
      await expect.poll(tab.statuses, WAIT).toEqual(['live', 'reconnecting', 'resumed', 'live']);
      expect(await tab.states()).toContainEqual(expect.objectContaining({ reason: 'takeover' }));
    }
    await expect.poll(() => openStreams(server), WAIT).toBe(1);
  });

  it('say that they reconnect and then resume, over a server that is killed', async () => {
    const { server, key, openLiveTabs, restart } = await startLiveTabs();
    const tabs = await openLiveTabs(8);
    await createPosts(server, key, ['one', 'two']);
    await expectTitles(tabs, ['one', 'two']);
    server.kill('SIGKILL');
    await server.exited;
    for (const tab of tabs) await expect.poll(tab.statuses, WAIT).toContain('reconnecting');
    const again = await restart();
    // Any tab can end the pause, which grows to half a minute.
    await tabs.at(-1)?.retry();
    await createPosts(again, key, ['three', 'four']);
    await expectTitles(tabs, ['one', 'two', 'three', 'four']);
    for (const tab of tabs) {
      await expect.poll(async () => (await tab.statuses()).slice(-2), WAIT).toEqual(['resumed', 'live']);
      expect(await tab.statuses()).not.toContain('gap');
      const broken = expect.objectContaining({ status: 'reconnecting', reason: 'network' });
      expect(await tab.states()).toContainEqual(broken);
    }
    expect(await openStreams(again)).toBe(1);
  });

  it('go on without the one that its user has left, and it gets what it has missed when the user goes back', async () => {
    const { server, key, openLiveTabs, askedForStream } = await startLiveTabs();
    const tabs = await openLiveTabs(3);
    await createPosts(server, key, ['one']);
    await expectTitles(tabs, ['one']);
    const [left] = askedForStream;
    if (left === undefined) throw new Error('no tab has asked for a stream');
    await left.goto(`${new URL(left.url()).origin}/elsewhere`);
    const others = tabs.filter(({ page }) => page !== left);
    for (const tab of others) await expect.poll(tab.statuses, WAIT).toContain('resumed');
    await createPosts(server, key, ['two', 'three']);
    await expectTitles(others, ['one', 'two', 'three']);
    await left.goBack({ waitUntil: 'commit' });
    await expectTitles(tabs, ['one', 'two', 'three']);
    await createPosts(server, key, ['four']);
    await expectTitles(tabs, ['one', 'two', 'three', 'four']);
    for (const tab of tabs) expect(await tab.statuses()).not.toContain('gap');
    expect(await openStreams(server)).toBe(1);
  });

  it('of different identities share nothing', async () => {
    const { server, key, openLiveTabs } = await startLiveTabs();
    const headers = { authorization: `Bearer ${key}` };
    const ada = await openLiveTabs(2, { headers, identity: 'ada' });
    const grace = await openLiveTabs(2, { headers, identity: 'grace' });
    expect(await openStreams(server)).toBe(2);
    await createPosts(server, key, ['one']);
    await expectTitles([...ada, ...grace], ['one']);
  });

  it('have a stream each where the browser has no Web Locks', async () => {
    const { server, key, context, openLiveTabs } = await startLiveTabs();
    await context.addInitScript('delete Navigator.prototype.locks');
    const tabs = await openLiveTabs(2);
    expect(await openStreams(server)).toBe(2);
    await createPosts(server, key, ['one', 'two']);
    await expectTitles(tabs, ['one', 'two']);
  });
});
