import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { openBrowser } from '../support/processes/browser.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { demoKey, startServer } from '../support/processes/server.ts';

const EMAIL = 'ada@example.com';
/** Stands in answers only, and in no address. */
const MARKS = { bySession: 'SeenBySessionOnly', byKey: 'SeenByKeyOnly' };

interface Options {
  readonly headers?: Record<string, string>;
  readonly cache?: 'no-cache' | 'force-cache' | 'reload' | 'no-store' | 'only-if-cached';
  readonly mode?: 'same-origin';
}

interface Got {
  readonly status: number;
  readonly etag: string | null;
  readonly text: string;
}

/** A fetch of the page. 0 where the browser gives nothing, such as what is to come from its cache and is not there. */
const get = (page: Page, path: string, init: Options = {}): Promise<Got> =>
  page.evaluate(
    async ([address, options]) => {
      try {
        const response = await fetch(address, options);
        return { status: response.status, etag: response.headers.get('etag'), text: await response.text() };
      } catch {
        return { status: 0, etag: null, text: '' };
      }
    },
    [path, init] as const,
  );

const post = (page: Page, path: string, body: object): Promise<number> =>
  page.evaluate(
    async ([address, text]) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch(address, { method: 'POST', headers, body: text })).status;
    },
    [path, JSON.stringify(body)] as const,
  );

/** The names of the files below a folder that have a text in them. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const found = await Promise.all(files.map(async (file) => (await readFile(file)).includes(text)));
  return files.filter((_, at) => found[at]);
}

async function start() {
  const dataDir = await migratedFolder();
  const server = await startServer(dataDir);
  const key = await demoKey(dataDir);
  const { password } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as { password: string };
  const browser = await openBrowser(server.origin);
  onTestFinished(() => browser.close());
  // While requests are looked at on their way, Chromium keeps no response.
  await browser.context.unrouteAll();
  const page = await browser.context.newPage();
  // A document of the origin that allows scripts everything.
  await page.goto(`${server.origin}/health/live`);
  const authorization = `Bearer ${key}`;
  const address = (mark: string) =>
    `/graphql?${new URLSearchParams({ query: `{ viewer { email } postsConnection(first: 5) { nodes { ${mark}: title } } }` })}`;
  for (const title of Object.values(MARKS))
    await page.evaluate(
      async ([text, fields]) => {
        await fetch('/graphql', { method: 'POST', headers: fields, body: text });
      },
      [
        JSON.stringify({ query: `mutation { createPost(title: "${title}", body: "b") { id } }` }),
        { authorization, 'content-type': 'application/json' },
      ] as const,
    );
  return { browser, page, password, authorization, address };
}

it('nothing of an account is in the browser’s cache after it has logged out', async () => {
  const { browser, page, password, authorization, address } = await start();
  const [bySession, byKey] = [address('a'), address('b')];
  const cached: Options = { cache: 'only-if-cached', mode: 'same-origin' };

  // With a key, the browser keeps the response and asks whether it is still so: the page sees 200.
  const first = await get(page, byKey, { headers: { authorization } });
  expect(first).toMatchObject({ status: 200, text: expect.stringContaining(MARKS.byKey) });
  expect(await get(page, byKey, { ...cached, headers: { authorization } })).toEqual(first);
  // Without it, it is not that answer.
  expect((await get(page, byKey, cached)).status).not.toBe(200);

  expect(await post(page, '/login', { email: EMAIL, password })).toBe(200);
  const shown = await get(page, bySession);
  expect(shown).toMatchObject({ status: 200, text: expect.stringContaining(MARKS.bySession) });
  const etag = shown.etag ?? '';
  expect((await get(page, bySession, { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await get(page, bySession, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  for (const cache of ['no-cache', 'force-cache', 'reload', 'no-store'] as const)
    expect((await get(page, bySession, { cache })).status).toBe(200);
  expect((await get(page, bySession, cached)).status).not.toBe(200);

  expect(await post(page, '/logout', {})).toBe(204);
  expect((await get(page, bySession, cached)).status).not.toBe(200);
  expect((await get(page, byKey, { ...cached, headers: { authorization } })).status).not.toBe(200);
  expect((await get(page, bySession)).status).toBe(401);

  await browser.context.close();
  for (const text of [...Object.values(MARKS), EMAIL])
    expect([text, await filesWith(browser.profile, text)]).toEqual([text, []]);
});

it('a response by key is kept where nobody logs out, so what is looked for above can be found', async () => {
  const { browser, page, authorization, address } = await start();
  await get(page, address('b'), { headers: { authorization } });
  await browser.context.close();
  expect(await filesWith(browser.profile, MARKS.byKey)).not.toEqual([]);
});

it('a page that asks again with a key gets 304 on the wire, and the whole response from the browser', async () => {
  const { page, authorization, address } = await start();
  const devtools = await page.context().newCDPSession(page);
  const statuses: number[] = [];
  // What came, before the browser puts its own answer in place of a 304.
  devtools.on('Network.responseReceivedExtraInfo', ({ statusCode }) => void statuses.push(statusCode));
  await devtools.send('Network.enable');
  const ask = () => get(page, address('b'), { headers: { authorization } });
  const first = await ask();
  expect(await ask()).toEqual(first);
  await expect.poll(() => statuses).toEqual([200, 304]);
});
