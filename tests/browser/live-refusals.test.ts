import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPosts, expectOpenStreams, startLiveTabs, type Tab } from '../support/processes/live-tabs.ts';
import { admin } from '../support/processes/server.ts';
import { subscribe } from '../support/streams/subscriber.ts';

const statesOf = (tab: Tab, status: string) => async () =>
  (await tab.states()).filter((state) => state.status === status);

describe('a stream of examples/live.ts', () => {
  it.each([
    // The one open stream is another tab's, or anybody's with another selection.
    { status: 429, reason: 'rate-limited', settings: { MAX_STREAMS: '1', ACCOUNT_LIMIT_FACTOR: '1' } },
    { status: 503, reason: 'unavailable', settings: { MAX_EVENT_GROUPS: '1' } },
  ])(
    'that is refused with $status waits for as long as Retry-After asks',
    async ({ status, reason, settings }) => {
      const { server, key, open } = await startLiveTabs(settings);
      const service = { fetch: (path: string, init?: RequestInit) => fetch(server.origin + path, init) };
      const other = await subscribe(service, { key, query: 'subscription { postCreated { id } }' });
      const tabs = [await open(), await open()];
      for (const tab of tabs) {
        await expect.poll(statesOf(tab, 'reconnecting')).not.toEqual([]);
        const [state] = await statesOf(tab, 'reconnecting')();
        expect(state).toMatchObject({ reason, httpStatus: status });
        // The second tab may open when the first has tried again.
        if (tab === tabs[0]) expect(state).toMatchObject({ attempt: 1 });
        // Five seconds, and up to one more so that clients do not come all at once.
        expect(state).toMatchObject({ waitMs: expect.toSatisfy((ms: number) => ms >= 5_000 && ms <= 6_000) });
      }
      await other.close();
      for (const tab of tabs) await expect.poll(tab.statuses).toContain('live');
      await createPosts(server, key, ['one']);
      for (const tab of tabs) await expect.poll(tab.titles).toEqual(['one']);
    },
  );

  it('that ends with the session goes on where it was after the next login', async () => {
    const { server, dataDir, api, key, openLiveTabs, open } = await startLiveTabs({
      CREDENTIAL_RECHECK_MS: '100',
    });
    const { password } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
    const anonymous = await open({ identity: 'nobody' });
    const log = (path: string) =>
      anonymous.page.evaluate(
        async ({ url, body }) => {
          const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body } as const;
          return (await fetch(url, { ...init, credentials: 'include' })).status;
        },
        { url: api + path, body: JSON.stringify({ email: 'ada@example.com', password }) },
      );
    const signedOut = { reason: 'unauthenticated', httpStatus: 401 };
    await expect.poll(async () => (await anonymous.list()).trouble).toMatchObject(signedOut);
    await anonymous.close();

    expect(await log('/login')).toBe(200);
    const tabs = await openLiveTabs(3, {});
    const [first, second] = tabs;
    expect(await log('/logout')).toBe(204);
    for (const tab of tabs)
      await expect.poll(tab.states).toContainEqual(expect.objectContaining({ reason: 'unauthenticated' }));
    await first?.retry();
    for (const tab of tabs) await expect.poll(tab.states).toContainEqual(expect.objectContaining(signedOut));
    await createPosts(server, key, ['while signed out']);
    expect(await log('/login')).toBe(200);
    await second?.retry();
    for (const tab of tabs) {
      await expect.poll(async () => (await tab.statuses()).slice(-2)).toEqual(['resumed', 'live']);
      await expect.poll(tab.titles).toEqual(['while signed out']);
    }
    await expectOpenStreams(server, 1);
  });

  it('tells every tab of a gap when the history has ended, and goes on', async () => {
    const { server, dataDir, key, openLiveTabs } = await startLiveTabs();
    const tabs = await openLiveTabs(4);
    await createPosts(server, key, ['one']);
    for (const tab of tabs) await expect.poll(tab.titles).toEqual(['one']);
    const away = tabs.pop();
    await away?.page.goto(`${new URL(away.page.url()).origin}/elsewhere`);
    await admin(['event-log', 'renew'], dataDir);
    for (const tab of tabs) {
      const isBack = async () => (await tab.statuses()).slice(-2);
      await expect.poll(isBack).toEqual(['gap', 'live']);
    }
    await createPosts(server, key, ['two']);
    // It was not there when the others were told.
    await away?.page.goBack({ waitUntil: 'commit' });
    for (const tab of tabs) {
      await expect.poll(tab.titles).toEqual(['one', 'two']);
      expect((await tab.statuses()).filter((status) => status === 'gap')).toEqual(['gap']);
      expect(await tab.statuses()).not.toContain('closed');
    }
    await expect.poll(async () => away?.titles()).toEqual(['one', 'two']);
  });

  it('that the service will never accept is closed, with the errors', async () => {
    const { open, askedForStream, key } = await startLiveTabs();
    const headers = { authorization: `Bearer ${key}` };
    const tab = await open({ headers, query: 'subscription { changes { dream } }' });
    await expect.poll(tab.statuses).toEqual(['closed']);
    const [state] = await statesOf(tab, 'closed')();
    expect(state).toMatchObject({
      errors: [
        { message: expect.stringContaining('dream'), extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } },
      ],
    });
    expect(askedForStream).toEqual([tab.page]);
  });
});
