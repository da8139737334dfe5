import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { openBrowser } from '../support/processes/browser.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';

import { demoKey, type ServerProcess, startServer } from '../support/processes/server.ts';

const SETTINGS = { RATE_LIMIT_BURST: '10000' };

/** What the page has received, as its script leaves it on `window`. */
interface Received {
  readonly titles: string[];
  readonly states: number[];
}

/** Opens an EventSource as an author of a page would, and returns when its first block has come. */
async function openEventSource(page: Page, key: string): Promise<void> {
  // `open` fires with the headers. The block has no event to show, but its bytes are seen on their way into the page.
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  const firstBytes = new Promise((resolve) => devtools.once('Network.dataReceived', resolve));
  await page.evaluate(async (apiKey) => {
    const received: Received = { titles: [], states: [] };
    Object.assign(window, { received });
    const search = new URLSearchParams({
      query: 'subscription { postCreated { title } }',
      api_key: apiKey,
    });
    const source = new EventSource(`/graphql?${search}`);
    source.addEventListener('next', ({ data }) => {
      received.titles.push(JSON.parse(data).data.postCreated.title);
    });
    source.addEventListener('error', () => received.states.push(source.readyState));
    await new Promise((resolve) => source.addEventListener('open', resolve, { once: true }));
  }, key);
  await firstBytes;
  await devtools.detach();
}

const readReceived = (page: Page) =>
  page.evaluate(() => (window as unknown as { received: Received }).received);

async function createPosts(server: ServerProcess, key: string, titles: readonly string[]): Promise<void> {
  for (const title of titles) {
    const { errors } = await server.gql(
      'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }',
      { key, variables: { title } },
    );
    expect(errors).toBeUndefined();
  }
}

describe('EventSource in a browser', () => {
  it('receives each post and resumes over servers that are killed, without loss and by itself', async () => {
    const dataDir = await migratedFolder();
    const settings = { ...SETTINGS, PORT: String(await freePort()) };
    let server = await startServer(dataDir, settings);
    const { origin } = server;
    const key = await demoKey(dataDir);
    const restart = async () => {
      server.kill('SIGKILL');
      await server.exited;
      server = await startServer(dataDir, settings);
    };
    const browser = await openBrowser(origin);
    onTestFinished(() => browser.close());
    const page = await browser.context.newPage();
    await page.goto(`${origin}/health/live`);
    const titles = async () => (await readReceived(page)).titles;

    // Cut off before its first event: it has only the block that the stream opened with.
    await openEventSource(page, key);
    await browser.context.setOffline(true);
    await restart();
    await createPosts(server, key, ['one', 'two']);
    await browser.context.setOffline(false);
    await expect.poll(titles).toEqual(['one', 'two']);

    await createPosts(server, key, ['three']);
    await expect.poll(titles).toEqual(['one', 'two', 'three']);
    await browser.context.setOffline(true);
    await restart();
    await createPosts(server, key, ['four', 'five']);
    await browser.context.setOffline(false);
    await expect.poll(titles).toEqual(['one', 'two', 'three', 'four', 'five']);
    // It was cut off each time, and never gave up for good (readyState 2).
    const { states } = await readReceived(page);
    expect(states.length).toBeGreaterThanOrEqual(2);
    expect(new Set(states)).toEqual(new Set([0]));
  });
});

describe('EventSource with an invalid document', () => {
  it('gets the error and the end, reconnects once, and is then closed for good', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir, SETTINGS);
    const key = await demoKey(dataDir);
    const browser = await openBrowser(server.origin);
    onTestFinished(() => browser.close());
    const page = await browser.context.newPage();
    await page.goto(`${server.origin}/health/live`);
    const statuses: number[] = [];
    page.on(
      'response',
      (response) => void (response.url().includes('/graphql?') && statuses.push(response.status())),
    );
    const told = await page.evaluate(async (apiKey) => {
      const search = new URLSearchParams({ query: 'subscription { nothing }', api_key: apiKey });
      const source = new EventSource(`/graphql?${search}`);
      const events: string[] = [];
      source.addEventListener('next', ({ data }) => {
        events.push(JSON.parse(data).errors[0].extensions.code);
      });
      source.addEventListener('complete', () => events.push('complete'));
      await new Promise<void>((resolve) => {
        source.addEventListener('error', () => {
          events.push(`state ${source.readyState}`);
          if (source.readyState === EventSource.CLOSED) resolve();
        });
      });
      return events;
    }, key);
    expect(told).toEqual(['GRAPHQL_VALIDATION_FAILED', 'complete', 'state 0', 'state 2']);
    expect(statuses).toEqual([200, 204]);
  });
});
