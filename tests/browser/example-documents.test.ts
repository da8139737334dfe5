import { readFile } from 'node:fs/promises';
import type { Page, Request } from 'playwright-core';
import { expect, it } from 'vitest';
import { DOCUMENTS } from '../../scripts/example-package.ts';
import { type Example, signIn, startExample, titlesOf, waitUntilLive } from '../support/processes/example.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { createPosts } from '../support/processes/posts.ts';
import { runScript, until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';

interface Seen {
  readonly how: string;
  readonly status: number;
}

/** Whether a request says which answer the page has. */
const tells = (request: Request) => request.headers()['if-none-match'] !== undefined;

/** How the page has asked for lists of posts so far, and what it was answered with. */
function watchLists(page: Page): Seen[] {
  const seen: Seen[] = [];
  page.on('response', (response) => {
    const request = response.request();
    const { pathname, searchParams } = new URL(response.url());
    if (pathname !== '/graphql') return;
    const isList = searchParams.get('variables')?.includes('"tag"') === true;
    const asText = request.method() === 'POST' && request.postData()?.includes('query Posts(') === true;
    if (isList) seen.push({ how: `${request.method()} by id`, status: response.status() });
    else if (asText) seen.push({ how: 'POST by text', status: response.status() });
  });
  return seen;
}

/** Shows a list and waits until it has been read. */
async function showList(page: Page, seen: readonly Seen[], hash: string): Promise<Seen> {
  const before = seen.length;
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await expect.poll(() => seen.length).toBeGreaterThan(before);
  await page.locator('.posts h2').first().waitFor();
  return seen.at(-1) as Seen;
}

const documents = ({ dataDir }: Example, ...args: string[]) =>
  admin(['document', ...args, '--client', 'example'], dataDir);

it.each(['own', 'other'] as const)(
  'the example page on its %s origin gets a list that has not changed as 304, and every change',
  async (from) => {
    const example = await startExample(from);
    const { server, key } = example;
    expect(await documents(example, 'publish', DOCUMENTS)).toMatchObject({ code: 0, json: { published: 4 } });
    const page = await example.open();
    const seen = watchLists(page);
    await signIn(page, 'Ada', example.password);
    await waitUntilLive(page);
    expect(new Set(seen.map(({ how, status }) => `${how} ${status}`))).toEqual(new Set(['GET by id 200']));

    // Once the stream has its place, a response needs no event id, and is the same again.
    const [all, tag] = ['#/', '#/tags/computing'];
    await showList(page, seen, tag);
    await showList(page, seen, all);
    const titles = await titlesOf(page);
    expect(await showList(page, seen, tag)).toEqual({ how: 'GET by id', status: 304 });
    expect((await titlesOf(page)).length).toBeLessThan(titles.length);
    expect(await showList(page, seen, all)).toEqual({ how: 'GET by id', status: 304 });
    expect(await titlesOf(page)).toEqual(titles);

    await showList(page, seen, tag);
    await createPosts(server, key, ['written meanwhile']);
    expect(await showList(page, seen, all)).toEqual({ how: 'GET by id', status: 200 });
    await expect.poll(() => titlesOf(page)).toEqual(['written meanwhile', ...titles]);

    // Somebody else gets nothing of it.
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail').waitFor();
    // What is asked for at an address for the first time cannot be answered from what the page has.
    const first = new Map<string, boolean>();
    page.on('request', (request) => first.set(request.url(), first.get(request.url()) ?? tells(request)));
    await signIn(page, 'Grace', example.password);
    await waitUntilLive(page);
    await showList(page, seen, tag);
    expect([...first.keys()].filter((url) => url.includes('documentId=')).length).toBeGreaterThan(1);
    expect([...first.values()]).not.toContain(true);

    // Without its documents, the page sends the text, and asks by the id no more.
    expect((await documents(example, 'retire')).code).toBe(0);
    const next = async () => {
      await showList(page, seen, all);
      return showList(page, seen, tag);
    };
    await expect.poll(next).toEqual({ how: 'POST by text', status: 200 });
    const afterwards = seen.length;
    await showList(page, seen, all);
    expect(seen.slice(afterwards)).toEqual([{ how: 'POST by text', status: 200 }]);
  },
);

it('"npm run example" publishes what the page asks for by id', async () => {
  const dataDir = await migratedFolder();
  const started = runScript('scripts/example.ts', [], { DATA_DIR: dataDir, PORT: '0' });
  await started.printed(/Example page/);
  const manifest: Record<string, string> = JSON.parse(await readFile(DOCUMENTS, 'utf8'));
  const published = await until('the documents of the page', async () => {
    const { json } = await admin(['document', 'list', '--client', 'example'], dataDir);
    return json.length > 0 && json;
  });
  expect(published.map(({ id }: { readonly id: string }) => id).sort()).toEqual(Object.keys(manifest).sort());
});
