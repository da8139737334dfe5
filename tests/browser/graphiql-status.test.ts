import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { violations } from '../support/processes/axe.ts';
import { openBrowser } from '../support/processes/browser.ts';
import { useDevelopmentService } from '../support/processes/development-service.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { demoKey, type ServerProcess, startServer } from '../support/processes/server.ts';

/** What axe finds in the library: tabs that hold buttons, and the colours of the editor's text. */
const OF_THE_LIBRARY =
  /^(nested-interactive: <li [^>]*class="graphiql-tab|color-contrast: <(div|span) class="(line-numbers|mtk))/;

const status = (page: Page) => page.locator('#status').innerText();
const label = (page: Page) => page.locator('#status').getByRole('status').innerText();
const tab = (page: Page, title: string) => page.locator(`.graphiql-tab-button[title="${title}"]`);
const result = async (page: Page) => {
  const text = await page.locator('.result-window .view-lines').first().innerText();
  return text.replaceAll('\u00a0', ' ');
};
const run = (page: Page) => page.keyboard.press('Control+Enter');

describe('the status line of GraphiQL', () => {
  const started = useDevelopmentService();
  const address = (search = '') =>
    `${started.service.origin}/graphql?token=${started.service.pageToken}${search}`;

  async function open(search = '', colorScheme: 'light' | 'dark' = 'light', width = 1280): Promise<Page> {
    const profile = await started.profiles.open({ colorScheme, viewport: { width, height: 800 } });
    onTestFinished(() => profile.close());
    const page = await profile.newPage();
    await page.goto(address(search));
    await page.locator('.graphiql-execute-button').waitFor();
    return page;
  }

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('has what a response cost, the time and the event id: %s, %i pixels', async (scheme, width) => {
    const page = await open('', scheme, width);
    expect(await status(page)).toMatch(/Ctrl-Enter runs the operation/);
    const sent = page.waitForRequest((request) => request.postData()?.includes('query Posts') === true);
    await run(page);
    const reply = (await sent).response().then((response) => response?.json());
    await expect.poll(() => label(page)).toBe('Completed');
    const { extensions } = await reply;
    expect(await status(page)).toMatch(/\d ms\s/);
    expect(await status(page)).toContain(`cost ${extensions.cost.complexity} of 5,000`);
    expect(await status(page)).toContain(`event id ${extensions.eventId}`);
    // The page has asked for them, and not who runs the operation.
    await expect.poll(() => result(page)).toContain('"posts"');
    expect(await result(page)).not.toContain('extensions');
    const found = await violations(page);
    expect(found.filter((violation) => !OF_THE_LIBRARY.test(violation))).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  });

  it('runs an operation once by Ctrl-Enter, wherever the focus is', async () => {
    const page = await open();
    const sent: (string | null)[] = [];
    page.on('request', (request) => {
      if (request.postData()?.includes('query Posts')) sent.push(request.postData());
    });
    const runOnce = async () => {
      const before = sent.length;
      await run(page);
      await expect.poll(() => sent.length).toBeGreaterThan(before);
      await expect.poll(() => label(page)).toBe('Completed');
      expect(sent).toHaveLength(before + 1);
    };
    await runOnce();
    await page.locator('.graphiql-query-editor .view-lines').click();
    await runOnce();
    await page.getByRole('link', { name: 'Content Graph API' }).focus();
    await runOnce();
  });

  it('stays with its tab, and says of a rejection and of errors what they are', async () => {
    const page = await open();
    await run(page);
    await expect.poll(() => label(page)).toBe('Completed');
    await tab(page, 'PostsPage').click();
    await expect.poll(() => label(page)).toBe('Ready');
    await tab(page, 'Posts').click();
    await expect.poll(() => label(page)).toBe('Completed');

    const errors = await open(`&${new URLSearchParams({ query: '{ nothing }' })}`);
    await run(errors);
    await expect.poll(() => label(errors)).toBe('Completed with errors');
    await errors.goto(`${started.service.origin}/graphql`);
    await errors.locator('.graphiql-execute-button').waitFor();
    await run(errors);
    await expect.poll(() => label(errors)).toBe('Failed with status 401');
  });

  it('gives a linked operation without a name a tab that has one', async () => {
    const page = await open(`&${new URLSearchParams({ query: '{ posts(limit: 1) { id } }' })}`);
    expect(await page.locator('.graphiql-tab-active').innerText()).toBe('<untitled>');
  });

  it('paints that it is loading before the library has come', async () => {
    const profile = await started.profiles.open();
    onTestFinished(() => profile.close());
    const page = await profile.newPage();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/\/graphiql\.(js|css)$/, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(address(), { waitUntil: 'commit' });
    const painted = () => page.evaluate('performance.getEntriesByName("first-contentful-paint").length');
    await expect.poll(painted).toBe(1);
    expect(await page.getByText('Loading GraphiQL…').isVisible()).toBe(true);
    release();
    await page.locator('.graphiql-execute-button').waitFor();
    expect(await page.getByText('Loading GraphiQL…').count()).toBe(0);
  });
});

describe('a subscription in GraphiQL', () => {
  const started = useDevelopmentService();

  it('has each post once over servers that are killed, and says how it stands', async () => {
    const dataDir = await migratedFolder();
    const PORT = String(await freePort());
    let server = await startServer(dataDir, { PORT });
    const { origin } = server;
    const key = await demoKey(dataDir);
    const { pageToken } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
    const create = async (to: ServerProcess, title: string) => {
      const { errors } = await to.gql(`mutation { createPost(title: "${title}", body: "b") { id } }`, {
        key,
      });
      expect(errors).toBeUndefined();
    };
    const kill = async () => {
      server.kill('SIGKILL');
      await server.exited;
    };
    const restart = async () => {
      server = await startServer(dataDir, { PORT });
    };
    const browser = await openBrowser(origin);
    onTestFinished(() => browser.close());
    const page = await browser.context.newPage();
    await page.goto(`${origin}/graphql?token=${pageToken}`);
    await tab(page, 'NewPosts').click();
    await run(page);
    await expect.poll(() => label(page)).toBe('Live: waiting for the first event');
    expect(await page.locator('.graphiql-spinner').isVisible()).toBe(false);

    // Before its first event: it has only the position.
    await kill();
    await expect.poll(() => label(page)).toBe('Reconnecting');
    await restart();
    await create(server, 'one');
    await expect.poll(() => result(page)).toContain('"title": "one"');
    await expect.poll(() => status(page)).toMatch(/Live[\s\S]*1 event\s[\s\S]*resumed [1-9]\d* times?\s/);
    await create(server, 'two');
    await expect.poll(() => result(page)).toContain('"title": "two"');

    // Off the network, too: it tries at once when it is back.
    await browser.context.setOffline(true);
    await kill();
    await restart();
    await create(server, 'three');
    await create(server, 'four');
    await browser.context.setOffline(false);
    await expect.poll(() => result(page)).toContain('"title": "four"');
    await create(server, 'five');
    await expect.poll(() => result(page)).toContain('"title": "five"');
    expect(await status(page)).toMatch(/^Live\s[\s\S]*5 events\s[\s\S]*resumed ([2-9]|[1-9]\d+) times\s/);

    await page.getByRole('button', { name: /^Stop query/ }).click();
    await expect.poll(() => label(page)).toBe('Stopped');
    // Also from its first connection on.
    await kill();
    await run(page);
    await expect.poll(() => label(page)).toBe('Reconnecting');
    await restart();
    await expect.poll(() => label(page)).toBe('Live: waiting for the first event');
    await create(server, 'six');
    await expect.poll(() => result(page)).toContain('"title": "six"');
    await page.getByRole('button', { name: /^Stop query/ }).click();
    await kill();
    await tab(page, 'Posts').click();
    await run(page);
    await expect.poll(() => label(page)).toBe('No response');
    await expect.poll(() => result(page)).toContain('The service does not respond.');
    expect(await result(page)).not.toContain('stack');
  });

  it('is chosen by its name among several operations, and ends where the key is rejected', async () => {
    const query = `# query Elsewhere { a }
      query Ids($filter: String = "subscription {") { posts(limit: 1, tag: $filter) { id } }
      subscription NewIds { postCreated { id } }`;
    const { origin, pageToken } = started.service;
    const profile = await started.profiles.open();
    onTestFinished(() => profile.close());
    const page = await profile.newPage();
    const open = async (token: string) => {
      await page.goto(`${origin}/graphql?${token}${new URLSearchParams({ query })}`);
      await page.locator('.graphiql-execute-button').click();
    };
    await open(`token=${pageToken}&`);
    await page.getByRole('menuitem', { name: 'NewIds' }).click();
    await expect.poll(() => label(page)).toBe('Live: waiting for the first event');
    await open('');
    await page.getByRole('menuitem', { name: 'NewIds' }).click();
    await expect.poll(() => label(page)).toBe('Failed with status 401');
    await expect.poll(() => result(page)).toContain('UNAUTHENTICATED');
  });
});
