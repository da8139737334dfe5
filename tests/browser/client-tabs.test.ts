import { describe, expect, it } from 'vitest';
import { type ClientTab, startClientTabs } from '../support/client/client-tabs.ts';
import { createPosts, expectOpenStreams } from '../support/processes/posts.ts';
import { admin } from '../support/processes/server.ts';

async function expectTitles(tabs: readonly ClientTab[], ...titles: string[]): Promise<void> {
  for (const tab of tabs) await expect.poll(tab.titles).toEqual(titles);
}

async function expectNothingMissed(tabs: readonly ClientTab[]): Promise<void> {
  for (const { states } of tabs) {
    await expect.poll(async () => (await states()).at(-1)).toMatch(/opened|resumed/);
    for (const state of ['missedEvents', 'closed']) expect(await states()).not.toContain(state);
  }
}

describe('Tabs with the client', () => {
  it('share one stream, and a later tab joins', async () => {
    const { server, key, open } = await startClientTabs();
    const tabs = await open(4);
    await createPosts(server, key, ['one', 'two']);
    await expectTitles(tabs, 'one', 'two');
    await expectOpenStreams(server, 1);
    tabs.push(...(await open(1)));
    await createPosts(server, key, ['three']);
    await expectTitles(tabs, 'one', 'two', 'three');
    await expectNothingMissed(tabs);
    for (const tab of tabs) await tab.close();
    await expectOpenStreams(server, 0);
  });

  it.each(['closed', 'crashed'])('lose nothing when the leader is %s', async (how) => {
    const { server, key, context, open, requests } = await startClientTabs();
    const tabs = await open(4);
    const leader = requests.streams.at(-1);
    if (leader === undefined) throw new Error('No tab asked for a stream.');
    const gone = new Set([leader]);
    for (const { page } of tabs) page.on('crash', () => gone.add(page));
    await createPosts(server, key, ['one']);
    await expectTitles(tabs, 'one');
    if (how === 'closed') await leader.close();
    else {
      const crash = leader.waitForEvent('crash');
      const devtools = await context.newCDPSession(leader);
      // The crashed page does not respond to the command.
      devtools.send('Page.crash').catch(() => undefined);
      await crash;
    }
    await createPosts(server, key, ['two', 'three']);
    const others = tabs.filter(({ page }) => !gone.has(page));
    expect(others.length).toBeGreaterThan(0);
    const reads = requests.queries.length;
    await expectTitles(others, 'one', 'two', 'three');
    for (const { states } of others) await expect.poll(states).toContain('leaderChange');
    await expectNothingMissed(others);
    expect(requests.queries).toHaveLength(reads);
    await expectOpenStreams(server, 1);
  });

  it('reconnect and resume when the service is killed, and any tab ends the pause', async () => {
    const { server, key, open, restart } = await startClientTabs();
    const tabs = await open(3);
    await createPosts(server, key, ['one']);
    await expectTitles(tabs, 'one');
    server.kill('SIGKILL');
    await server.exited;
    for (const { states } of tabs) await expect.poll(states).toContain('network');
    const again = await restart();
    await tabs.at(-1)?.retry();
    await createPosts(again, key, ['two', 'three']);
    await expectTitles(tabs, 'one', 'two', 'three');
    await expectNothingMissed(tabs);
    await expectOpenStreams(again, 1);
  });

  it('continue without a tab in the back/forward cache, which shows what it missed when its reader returns', async () => {
    const { server, key, open, requests } = await startClientTabs();
    const tabs = await open(3);
    await createPosts(server, key, ['one']);
    await expectTitles(tabs, 'one');
    const [left] = requests.streams;
    if (left === undefined) throw new Error('No tab asked for a stream.');
    const isRestored = left.evaluate(() => Object.assign(window, { isRestored: true }).isRestored);
    expect(await isRestored).toBe(true);
    await left.goto(`${new URL(left.url()).origin}/elsewhere`);
    const others = tabs.filter(({ page }) => page !== left);
    for (const { states } of others) await expect.poll(states).toContain('leaderChange');
    await createPosts(server, key, ['two', 'three']);
    await expectTitles(others, 'one', 'two', 'three');
    await left.goBack({ waitUntil: 'commit' });
    await expectTitles(tabs, 'one', 'two', 'three');
    // The page is the same one: it was not loaded again.
    expect(await left.evaluate(() => Reflect.get(window, 'isRestored'))).toBe(true);
    await createPosts(server, key, ['four']);
    await expectTitles(tabs, 'one', 'two', 'three', 'four');
    await expectNothingMissed(tabs);
    await expectOpenStreams(server, 1);
  });

  it('lose nothing when their processes are stopped and continued', async () => {
    const { server, key, open, processes } = await startClientTabs();
    const tabs = await open(3);
    await createPosts(server, key, ['one']);
    await expectTitles(tabs, 'one');
    const stopped = await processes();
    expect(stopped.length).toBeGreaterThan(0);
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    try {
      await createPosts(server, key, ['two', 'three']);
    } finally {
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
    }
    await createPosts(server, key, ['four']);
    await expectTitles(tabs, 'one', 'two', 'three', 'four');
    await expectNothingMissed(tabs);
    await expectOpenStreams(server, 1);
  });

  it('show edits and deletions in the pages that they read, also after missed events', async () => {
    const { server, key, dataDir, open } = await startClientTabs();
    await createPosts(
      server,
      key,
      Array.from({ length: 8 }, (_, index) => `post ${index}`),
    );
    const [first] = await open(1, { first: 3 });
    const [second] = await open(1, { first: 3 });
    if (first === undefined || second === undefined) throw new Error('There are no tabs.');
    await first.more();
    await expectTitles([first], 'post 2', 'post 3', 'post 4', 'post 5', 'post 6', 'post 7');
    const { data } = await server.gql('{ posts(limit: 8) { id title } }', { key });
    const { posts } = data as { readonly posts: readonly { readonly id: string; readonly title: string }[] };
    const change = async (text: string, title: string) => {
      const variables = { id: posts.find((post) => post.title === title)?.id };
      expect(
        (await server.gql(`mutation ($id: ID!) { ${text} }`, { key, variables })).errors,
      ).toBeUndefined();
    };
    await change('updatePost(id: $id, title: "edited") { id }', 'post 7');
    await change('updatePost(id: $id, title: "edited too") { id }', 'post 2');
    await change('deletePost(id: $id)', 'post 5');
    await expectTitles([first], 'edited too', 'post 3', 'post 4', 'post 6', 'edited');
    await expectTitles([second], 'post 6', 'edited');
    // The lists are read again, at least as far as before.
    await admin(['event-log', 'reset'], dataDir);
    await change('deletePost(id: $id)', 'post 6');
    await createPosts(server, key, ['new']);
    for (const { states } of [first, second]) await expect.poll(states).toContain('missedEvents');
    const left = ['edited too', 'post 3', 'post 4', 'edited', 'new'];
    await expect.poll(first.titles).toEqual(expect.arrayContaining(left));
    await expect.poll(second.titles).toEqual(expect.arrayContaining(left.slice(3)));
    for (const { more } of [first, second, second]) await more();
    await expectTitles([first, second], 'post 0', 'post 1', ...left);
  });

  it('share no stream with tabs of another account', async () => {
    const { server, key, open } = await startClientTabs();
    const tabs = [...(await open(2, { identity: 'ada' })), ...(await open(2, { identity: 'grace' }))];
    await expectOpenStreams(server, 2);
    await createPosts(server, key, ['one']);
    await expectTitles(tabs, 'one');
  });

  it('close the stream while all of them are frozen, and resume', async () => {
    const { server, key, open } = await startClientTabs();
    const tabs = await open(2);
    // Chromium sends these events before a page in the background stops, and when it continues.
    const send = async (name: 'freeze' | 'resume') => {
      for (const { page } of tabs)
        await page.evaluate((type) => document.dispatchEvent(new Event(type)), name);
    };
    await send('freeze');
    await expectOpenStreams(server, 0);
    await createPosts(server, key, ['one', 'two']);
    await send('resume');
    await expectTitles(tabs, 'one', 'two');
    await expectNothingMissed(tabs);
    await expectOpenStreams(server, 1);
  });

  it('have separate streams where the browser has no Web Locks', async () => {
    const { server, key, context, open } = await startClientTabs();
    await context.addInitScript('delete Navigator.prototype.locks');
    const tabs = await open(2);
    await expectOpenStreams(server, 2);
    await createPosts(server, key, ['one', 'two']);
    await expectTitles(tabs, 'one', 'two');
  });
});
