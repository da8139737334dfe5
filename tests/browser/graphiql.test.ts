import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/log.ts';
import { type Service, startService } from '../../src/serve.ts';
import { type Browser, openBrowser } from '../support/processes/browser.ts';

const WAIT = { timeout: 30_000 };

describe('GraphiQL on a first start in development', () => {
  let folder = '';
  let service: Service;
  let browser: Browser;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'content-graph-graphiql-'));
    const config = loadConfig({ NODE_ENV: 'development', PORT: '0', DATA_DIR: folder });
    service = await startService(config, createLogger({ level: 'error', pretty: false }));
    browser = await openBrowser(service.origin);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** A new page that GraphiQL has drawn and that says what went wrong in it. */
  async function open(path = '/graphql'): Promise<{ page: Page; failures: string[] }> {
    const page = await browser.context.newPage();
    onTestFinished(() => page.close());
    const failures: string[] = [];
    page.on('pageerror', (error) => failures.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') failures.push(message.text());
    });
    // GraphiQL keeps its tabs and the name of the last operation in the browser: each test starts as a newcomer.
    await page.goto(`${service.origin}/health/live`);
    await page.evaluate('localStorage.clear()');
    await page.goto(service.origin + path);
    await page.locator('.graphiql-execute-button').waitFor();
    return { page, failures };
  }
  const play = (page: Page) => page.locator('.graphiql-execute-button').click();
  /** By key: under a pointer the tab begins to be dragged. */
  const openTab = (page: Page, title: string) =>
    page.locator(`.graphiql-tab-button[title="${title}"]`).press('Enter');
  const shown = (page: Page) =>
    page
      .locator('.result-window')
      .innerText()
      .then((text) => text.replaceAll('\u00a0', ' '));
  /** A key press is faster than the editor, which reads a tab's operation a moment after it shows it. */
  async function playAgain(page: Page): Promise<void> {
    if ((await shown(page)).includes('Cannot infer operation')) await play(page);
  }
  async function createPost(title: string): Promise<void> {
    const response = await fetch(`${service.origin}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${service.demo?.apiKey ?? ''}`,
      },
      body: JSON.stringify({
        query: 'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }',
        variables: { title },
      }),
    });
    expect(response.status).toBe(200);
  }

  it('shows posts after one click on play', async () => {
    const { page, failures } = await open();
    await play(page);
    await expect.poll(() => shown(page), WAIT).toMatch(/"posts": \[[\s\S]*"title": "[^"]+"/);
    expect(await shown(page)).not.toContain('"errors"');
    expect(failures).toEqual([]);
  });

  it('shows the event of a post that is created while the subscription runs', async () => {
    const { page, failures } = await open();
    await openTab(page, 'NewPosts');
    let opened = false;
    page.on('response', (response) => {
      opened ||= /^text\/event-stream/.test(response.headers()['content-type'] ?? '');
    });
    await play(page);
    const streaming = async () => {
      if (!opened) await playAgain(page);
      return opened;
    };
    await expect.poll(streaming, WAIT).toBe(true);
    await createPost('Seen in the browser');
    await expect.poll(() => shown(page), WAIT).toContain('"title": "Seen in the browser"');
    await createPost('And another');
    await expect.poll(() => shown(page), WAIT).toContain('"title": "And another"');
    expect(failures).toEqual([]);
  });

  it.each([
    ['CreatePost', '"title": "Hello from GraphiQL"'],
    // The editor draws the lines in view only: this one is near the top.
    ['PostsPage', '"cursor": "'],
  ])('runs the example %s as it stands', async (title, expected) => {
    const { page, failures } = await open();
    await openTab(page, title);
    await play(page);
    const result = async () => {
      await playAgain(page);
      return shown(page);
    };
    await expect.poll(result, WAIT).toContain(expected);
    expect(await shown(page)).not.toContain('"errors"');
    expect(failures).toEqual([]);
  });

  it('is still there, with the key, when the page is loaded again', async () => {
    const { page, failures } = await open();
    await openTab(page, 'PostsPage');
    await expect.poll(() => page.url(), WAIT).toContain('query=');
    await page.reload();
    await page.locator('.graphiql-execute-button').waitFor();
    await play(page);
    await expect.poll(() => shown(page), WAIT).toContain('"postsConnection"');
    expect(failures).toEqual([]);
  });

  it('knows the schema: the documentation lists types and what they mean', async () => {
    const { page } = await open();
    await page.getByRole('button', { name: /documentation/i }).click();
    await page.locator('.graphiql-doc-explorer').getByRole('link', { name: 'Post', exact: true }).click();
    await expect
      .poll(() => page.locator('.graphiql-doc-explorer').innerText(), WAIT)
      .toContain('The current number of comments on the post.');
  });

  it('asks no other host for anything', () => {
    expect(browser.strayRequests).toEqual([]);
  });
});
