import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readExamples } from '../../src/schema/examples.ts';
import { graphqlPost } from '../support/graphql.ts';
import { useDevelopmentService } from '../support/processes/development-service.ts';

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const STORED_TABS = 'content-graph:graphiql:tabState';
/** What the result of each example shows near its top: the editor draws the lines in view only. */
const RESULTS: readonly (readonly [string, RegExp])[] = [
  ['Posts', /"posts": \[[\s\S]*"title": "[^"]+"/],
  ['CreatePost', /"title": "Hello from GraphiQL"/],
  ['PostsPage', /"postsConnection": \{[\s\S]*"cursor": "/],
  ['PostBySlug', /"slug": "on-loops"/],
  ['LatestOfTag', /"totalCount": \d/],
  ['Search', /"searchPosts": \{/],
  ['Drafts', /"drafts": \[/],
];
const EXAMPLE_TABS = readExamples().map(({ name }) => name);
/** The tabs of the examples, of which one is closed, and another one has the operation "Mine". */
const tabsAfter = (closed: string, changed: string) =>
  EXAMPLE_TABS.filter((name) => name !== closed).map((name) => (name === changed ? 'Mine' : name));

describe('GraphiQL on a first start in development', () => {
  const started = useDevelopmentService();
  const failures: string[] = [];

  async function newProfile(options?: BrowserContextOptions): Promise<BrowserContext> {
    const profile = await started.profiles.open(options);
    onTestFinished(() => profile.close());
    return profile;
  }
  const printed = () => `/graphql?token=${started.service.pageToken}`;
  /** Opens GraphiQL, and notes what goes wrong in it. */
  async function visit(profile: BrowserContext, path = printed()): Promise<Page> {
    const page = await profile.newPage();
    page.on('pageerror', (error) => failures.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') failures.push(message.text());
    });
    await page.goto(started.service.origin + path);
    return page;
  }
  const newcomer = async (options?: BrowserContextOptions) => visit(await newProfile(options));
  const playButton = (page: Page) => page.locator('.graphiql-execute-button');
  const play = (page: Page) => playButton(page).click();
  const tab = (page: Page, title: string) => page.locator(`.graphiql-tab-button[title="${title}"]`);
  const titles = (page: Page) => page.locator('.graphiql-tab-button').allInnerTexts();
  const activeTitle = (page: Page) => page.locator('.graphiql-tab-active').innerText();
  const textIn = (page: Page, place: string) =>
    page
      .locator(`${place} .view-lines`)
      .first()
      .innerText()
      .then((text) => text.replaceAll('\u00a0', ' '));
  const operation = (page: Page) => textIn(page, '.graphiql-query-editor');
  const result = (page: Page) => textIn(page, '.result-window');
  /** Clicks on a tab and, at once, on Play. */
  async function run(page: Page, title: string, expected: RegExp): Promise<void> {
    await tab(page, title).click();
    await play(page);
    await expect.poll(() => result(page)).toMatch(expected);
  }
  /** Replaces the operation, and waits until the browser has stored it. */
  async function write(page: Page, text: string): Promise<void> {
    await page.locator('.graphiql-query-editor .view-lines').click();
    await page.keyboard.press('Control+A');
    if (text === '') await page.keyboard.press('Delete');
    else await page.keyboard.insertText(text);
    const stored = () =>
      page.evaluate((name) => {
        const { tabs, activeTabIndex } = JSON.parse(localStorage.getItem(name) ?? '');
        return tabs[activeTabIndex].query;
      }, STORED_TABS);
    await expect.poll(stored).toBe(text);
  }
  async function createPost(title: string): Promise<void> {
    const response = await fetch(
      `${started.service.origin}/graphql`,
      graphqlPost('mutation ($title: String!) { createPost(title: $title, body: "b") { id } }', {
        key: started.service.demo?.apiKey,
        variables: { title },
      }),
    );
    expect(response.status).toBe(200);
  }

  it.each(RESULTS)('opens %s by one click and runs it by one more', async (title, expected) => {
    await run(await newcomer(), title, expected);
  });

  it('runs the examples one after the other, forth and back, and shows the variables they need', async () => {
    const page = await newcomer();
    await play(page);
    await expect.poll(() => result(page)).toMatch(/"posts": \[/);
    await tab(page, 'CreatePost').click();
    await expect
      .poll(() => textIn(page, '.graphiql-editor-tool'))
      .toContain('"title": "Hello from GraphiQL"');
    for (const [title, expected] of [...RESULTS, ...RESULTS.toReversed()]) await run(page, title, expected);
  });

  it('shows events while the subscription runs, and ends it with another click', async () => {
    const page = await newcomer();
    await tab(page, 'NewPosts').click();
    const opened = page.waitForResponse((response) =>
      /^text\/event-stream/.test(response.headers()['content-type'] ?? ''),
    );
    await play(page);
    const stream = await opened;
    await createPost('Seen in the browser');
    await expect.poll(() => result(page)).toContain('"title": "Seen in the browser"');
    await createPost('And another');
    await expect.poll(() => result(page)).toContain('"title": "And another"');
    const ended = page.waitForEvent('requestfailed', (request) => request === stream.request());
    await page.getByRole('button', { name: /^Stop query/ }).click();
    await ended;
    await page.getByRole('button', { name: /^Execute query/ }).waitFor();
    expect(await result(page)).toContain('"title": "And another"');
  });

  it('keeps the tab and what was written in it when the page is loaded again', async () => {
    const page = await newcomer();
    await tab(page, 'PostsPage').click();
    await page.reload();
    expect(await activeTitle(page)).toBe('PostsPage');
    await write(page, 'query Mine { posts(limit: 1) { title } }');
    await page.locator('.graphiql-tab', { has: tab(page, 'NewPosts') }).hover();
    await page
      .locator('.graphiql-tab', { has: tab(page, 'NewPosts') })
      .getByRole('button', { name: 'Close Tab' })
      .click();
    await tab(page, 'Mine').click();
    await page.reload();
    await playButton(page).waitFor();
    expect(await titles(page)).toEqual(tabsAfter('NewPosts', 'PostsPage'));
    expect(await activeTitle(page)).toBe('Mine');
    await expect.poll(() => operation(page)).toBe('query Mine { posts(limit: 1) { title } }');
    await play(page);
    await expect.poll(() => result(page)).toMatch(/"posts": \[/);
  });

  it('has the examples at the next visit, beside what was written, and no empty tab', async () => {
    const profile = await newProfile();
    const first = await visit(profile);
    await write(first, 'query Posts { posts(limit: 1) { title } }');
    await tab(first, 'CreatePost').click();
    await write(first, 'query Mine { __typename }');
    await tab(first, 'PostsPage').click();
    await write(first, '');
    await first.close();

    const second = await visit(profile);
    await playButton(second).waitFor();
    expect(await titles(second)).toEqual([
      ...tabsAfter('PostsPage', 'CreatePost'),
      'CreatePost',
      'PostsPage',
    ]);
    await play(second);
    await expect.poll(() => result(second)).toMatch(/"posts": \[/);
    expect(await operation(second)).toBe('query Posts { posts(limit: 1) { title } }');
    await run(second, 'Mine', /"__typename": "Query"/);
    await run(second, 'CreatePost', /"title": "Hello from GraphiQL"/);
    await run(second, 'PostsPage', /"postsConnection"/);
  });

  it('fills in the key of this database and stores none', async () => {
    const profile = await newProfile();
    const first = await visit(profile);
    for (const [title, expected] of RESULTS) await run(first, title, expected);
    expect(await first.evaluate('JSON.stringify(localStorage)')).not.toContain('cga_');
    // As an old version, or a person, may have left it.
    await first.evaluate((name) => {
      const headers = '{"Authorization":"Bearer cga_of-another-database"}';
      const { tabs, activeTabIndex } = JSON.parse(localStorage.getItem(name) ?? '');
      const withHeaders = tabs.map((one: object) => ({ ...one, headers }));
      localStorage.setItem(name, JSON.stringify({ tabs: withHeaders, activeTabIndex }));
      localStorage.setItem('content-graph:graphiql:headers', headers);
    }, STORED_TABS);
    await first.close();
    const second = await visit(profile);
    await play(second);
    // The tab that was used last.
    await expect.poll(() => result(second)).toMatch(/"drafts": \[/);
    for (const [title, expected] of RESULTS) await run(second, title, expected);
  });

  it.each(['{', '[]', '{"tabs":[null,{"id":1}],"activeTabIndex":7}', 'refused'])(
    'opens with the examples if what it finds in storage is %s',
    async (stored) => {
      const profile = await newProfile();
      await profile.addInitScript(
        ([name = '', text = '']) => {
          if (text !== 'refused') return localStorage.setItem(name, text);
          Storage.prototype.setItem = () => {
            throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
          };
        },
        [STORED_TABS, stored],
      );
      const page = await visit(profile);
      await run(page, 'CreatePost', /"title": "Hello from GraphiQL"/);
      expect(await titles(page)).toEqual(EXAMPLE_TABS);
    },
  );

  it('keeps the tabs of two windows', async () => {
    const profile = await newProfile();
    const windows = [await visit(profile), await visit(profile)];
    const names = ['One', 'Two'];
    for (const [index, page] of windows.entries()) {
      await page.getByRole('button', { name: 'New tab' }).click();
      await write(page, `query ${names[index]} { __typename }`);
    }
    for (const page of windows) {
      await page.reload();
      await playButton(page).waitFor();
      expect(await titles(page)).toEqual(expect.arrayContaining(names));
    }
  });

  it('opens the operation of a link, once', async () => {
    const profile = await newProfile();
    const search = new URLSearchParams({
      query: 'query Linked($n: Int) { posts(limit: $n) { title } }',
      variables: '{"n":1}',
    });
    const page = await visit(profile, `${printed()}&${search}`);
    await play(page);
    await expect.poll(() => result(page)).toMatch(/"posts": \[/);
    await write(page, 'query Linked { __typename }');
    await page.reload();
    await playButton(page).waitFor();
    expect(await titles(page)).toEqual([...EXAMPLE_TABS, 'Linked']);
    await expect.poll(() => operation(page)).toBe('query Linked { __typename }');
    await play(page);
    await expect.poll(() => result(page)).toMatch(/"__typename": "Query"/);
  });

  it('says under another address than the printed one where the demo key is', async () => {
    const page = await visit(await newProfile(), '/graphql');
    await expect.poll(() => page.locator('.graphiql-editor-tool').innerText()).toContain('?token=…');
    const shown = await page.content();
    expect(shown).not.toContain(started.service.demo?.apiKey);
    expect(shown).not.toContain(started.service.pageToken);
  });

  it('fits on a phone: tabs, Play and the result are in view', async () => {
    const page = await newcomer(PHONE);
    await tab(page, 'PostsPage').tap();
    await playButton(page).tap();
    await expect.poll(() => result(page)).toContain('"postsConnection"');
    for (const place of ['.graphiql-tab-active', '.graphiql-execute-button', '.graphiql-editor-tool']) {
      const box = await page.locator(place).boundingBox();
      expect(box?.x, place).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0), place).toBeLessThanOrEqual(390);
    }
    const shown = await page.locator('.result-window').boundingBox();
    expect([shown?.width, shown?.height].every((pixels = 0) => pixels > 300)).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  });

  it('is light or dark as the system is, has a title, and leads back to the start page', async () => {
    const page = await newcomer({ colorScheme: 'light' });
    const lightness = () =>
      page
        .locator('.graphiql-container')
        .last()
        .evaluate((element) => {
          const colour = getComputedStyle(element).backgroundColor.match(/\d+/g)?.map(Number) ?? [];
          return Math.max(...colour);
        });
    await expect.poll(lightness).toBe(255);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(lightness).toBeLessThan(100);
    expect(await page.title()).toBe('GraphiQL – Content Graph API');
    await page.getByRole('link', { name: 'Content Graph API' }).click();
    await page.waitForURL(`${started.service.origin}/?token=${started.service.pageToken}`);
  });

  it('knows the schema: the documentation lists types and what they mean', async () => {
    const page = await newcomer();
    await page.getByRole('button', { name: /documentation/i }).click();
    await page.locator('.graphiql-doc-explorer').getByRole('link', { name: 'Post', exact: true }).click();
    await expect
      .poll(() => page.locator('.graphiql-doc-explorer').innerText())
      .toContain('The current number of comments on the post.');
  });

  it('asks no other host for anything, and reports no error', () => {
    expect(started.profiles.strayRequests).toEqual([]);
    expect(failures).toEqual([]);
  });
});
