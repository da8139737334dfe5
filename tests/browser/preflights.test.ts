import { createServer } from 'node:http';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { openBrowser } from '../support/processes/browser.ts';
import { signIn, startExample, waitUntilLive } from '../support/processes/example.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';

import { demoKey, startServer } from '../support/processes/server.ts';

/** A page of an origin of its own. */
async function servePage(): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>A page</title>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the page has no port');
  return `http://127.0.0.1:${address.port}`;
}

/** The preflights that the browser has sent so far, with what they ask for. */
async function watchPreflights(page: Page): Promise<readonly string[]> {
  const sent: string[] = [];
  const devtools = await page.context().newCDPSession(page);
  devtools.on('Network.requestWillBeSent', ({ request: { method, url } }) => {
    if (method === 'OPTIONS') sent.push(new URL(url).pathname);
  });
  await devtools.send('Network.enable');
  return sent;
}

it('a page of another origin asks once for all operations, and not where a form could ask', async () => {
  const origin = await servePage();
  const dataDir = await migratedFolder();
  const server = await startServer(dataDir, { CORS_ORIGINS: origin });
  const key = await demoKey(dataDir);
  const browser = await openBrowser(origin, { others: [server.origin] });
  onTestFinished(() => browser.close());
  // While requests are looked at on their way, Chromium keeps no response.
  await browser.context.unrouteAll();
  const page = await browser.context.newPage();
  await page.goto(origin);
  const preflights = await watchPreflights(page);

  const ask = (path: string, headers: Record<string, string>, body?: object) =>
    page.evaluate(
      async ([url, fields, text]) => {
        const init = text === undefined ? {} : { method: 'POST', body: text };
        return (await fetch(url, { ...init, headers: fields })).status;
      },
      [`${server.origin}${path}`, headers, body && JSON.stringify(body)] as const,
    );
  const shown = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const query = { query: '{ viewer { id } }' };
  const mutation = { query: 'mutation { createPost(title: "t", body: "b") { id } }' };
  const search = `?${new URLSearchParams(query)}`;

  expect(await ask('/graphql', shown, query)).toBe(200);
  // The browser tells of its requests later than a page hears of the responses.
  await expect.poll(() => preflights).toEqual(['/graphql']);
  expect(await ask('/graphql', { ...shown, 'idempotency-key': crypto.randomUUID() }, mutation)).toBe(200);
  expect(await ask('/graphql', { ...shown, 'x-request-id': 'a', 'x-show-cost': '1' }, query)).toBe(200);
  expect(await ask(`/graphql${search}`, {})).toBe(401);
  expect(await ask('/login', {})).toBe(200);
  await page.evaluate(
    async (url) => {
      const source = new EventSource(url);
      await new Promise((resolve) => source.addEventListener('open', resolve, { once: true }));
      source.close();
    },
    `${server.origin}/graphql?${new URLSearchParams({ query: 'subscription { postCreated { id } }', api_key: key })}`,
  );
  expect(preflights).toEqual(['/graphql']);
  expect(await ask(`/graphql${search}`, { authorization: shown.authorization })).toBe(200);
  await expect.poll(() => preflights).toEqual(['/graphql', '/graphql']);
});

it('the example page on another origin asks for nothing twice, and its stream not for itself', async () => {
  const { context, url, password } = await startExample('other');
  await context.unrouteAll();
  const page = await context.newPage();
  const preflights = await watchPreflights(page);
  await page.goto(url);
  await signIn(page, 'Ada', password);
  await waitUntilLive(page);
  await expect.poll(() => new Set(preflights)).toEqual(new Set(['/login', '/graphql']));
  const first = [...preflights];
  await page.reload();
  await waitUntilLive(page);
  expect(preflights).toEqual(first);
});
