import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openBrowser } from '../support/processes/browser.ts';
import { type Example, signIn, startExample, waitUntilLive } from '../support/processes/example.ts';
import { admin } from '../support/processes/server.ts';

const TITLE = 'Notes on the Analytical Engine';

interface Stored {
  readonly title: string;
  readonly body: string;
  readonly tags: readonly string[];
}

/** Ada, the author of a post, and Grace, an admin, who both have its form open. */
async function openForms(): Promise<Example & { ada: Page; grace: Page; stored: () => Promise<Stored> }> {
  const example = await startExample();
  const { openSignedIn, server, dataDir, key, url, api, password } = example;
  await admin(['user', 'set-role', 'grace@example.com', 'admin'], dataDir);
  const ada = await openSignedIn('Ada');
  const browser = await openBrowser(new URL(url).origin, { others: [api] });
  onTestFinished(browser.close);
  const grace = await browser.context.newPage();
  await grace.goto(url);
  await signIn(grace, 'Grace', password);
  const { data } = await server.gql('{ posts(limit: 100) { id title } }', { key });
  const { posts } = data as { posts: { id: string; title: string }[] };
  const id = posts.find(({ title }) => title === TITLE)?.id;
  for (const page of [ada, grace]) {
    await waitUntilLive(page);
    await page.getByRole('link', { name: TITLE }).click();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Text').waitFor();
  }
  const query = 'query ($id: ID!) { post(id: $id) { title body tags } }';
  const stored = async () => {
    const response = await server.gql(query, { key, variables: { id } });
    return (response.data as { post: Stored }).post;
  };
  return { ...example, ada, grace, stored };
}

const text = (page: Page) => page.getByLabel('Text', { exact: true });
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });
const theirs = (page: Page) => page.getByRole('region', { name: 'Text, as saved' });

/** A tab that hears nothing of what others change. */
async function deafen(page: Page): Promise<void> {
  await page.route('**/graphql', (route) =>
    route.request().postData()?.includes('subscription') ? route.abort() : route.continue(),
  );
  await page.reload();
  await page.getByLabel('Text').waitFor();
}

async function saved(page: Page): Promise<void> {
  await page.locator('.post-body').waitFor();
}

describe('two people who change one post on the example page', () => {
  it.each([
    { order: 'the author first', isAuthorFirst: true, isDeaf: false },
    { order: 'the admin first', isAuthorFirst: false, isDeaf: false },
    {
      order: 'the author first, of whom the admin hears only when saving',
      isAuthorFirst: true,
      isDeaf: true,
    },
    {
      order: 'the admin first, of whom the author hears only when saving',
      isAuthorFirst: false,
      isDeaf: true,
    },
  ])('both see both texts: $order', async ({ isAuthorFirst, isDeaf }) => {
    const { ada, grace, stored } = await openForms();
    const [early, late] = isAuthorFirst ? [ada, grace] : [grace, ada];
    if (isDeaf) await deafen(late);
    await text(early).fill('The early text');
    await text(late).fill('The late text');
    await late.getByText('Not saved', { exact: true }).waitFor();
    await save(early).click();
    await saved(early);
    if (isDeaf) await save(late).click();
    await theirs(late).getByText('The early text').waitFor();
    expect(await text(late).inputValue()).toBe('The late text');
    expect((await stored()).body).toBe('The early text');
    expect(await save(late).isDisabled()).toBe(true);
    // A decision that is not made is not lost with the page.
    await late.reload();
    await theirs(late).getByText('The early text').waitFor();
    expect(await text(late).inputValue()).toBe('The late text');
    await late.getByRole('button', { name: 'Keep mine' }).click();
    await save(late).click();
    await saved(late);
    expect((await stored()).body).toBe('The late text');
  });

  it('keep what each has changed, where that is not the same, and tags with commas', async () => {
    const { ada, grace, stored } = await openForms();
    await deafen(grace);
    await ada.getByLabel('Title').fill('A title of Ada');
    await ada.getByLabel('Tags').fill('"engines, analytical", ""quoted"", plain');
    await save(ada).click();
    await saved(ada);
    const tags = await ada.locator('.tag').allTextContents();
    expect(tags).toContain('engines, analytical');
    await text(grace).fill('A text of Grace');
    await save(grace).click();
    await saved(grace);
    expect(await stored()).toEqual({ title: 'A title of Ada', body: 'A text of Grace', tags });
  });

  it('lose no draft where the post is deleted, and may take the other text', async () => {
    const { ada, grace, stored } = await openForms();
    await text(ada).fill('Of Ada');
    await text(grace).fill('Of Grace');
    await save(grace).click();
    await theirs(ada).getByText('Of Grace').waitFor();
    await ada.getByRole('button', { name: 'Use the saved one' }).click();
    expect(await text(ada).inputValue()).toBe('Of Grace');
    expect(await ada.evaluate(() => document.activeElement?.id)).toBe('body');
    expect(await ada.getByText('Not saved', { exact: true }).count()).toBe(0);
    await text(ada).fill('Of Ada again');
    await grace.getByRole('button', { name: 'Delete' }).click();
    await grace.getByRole('button', { name: 'Delete post' }).click();
    await ada.getByText('This post was deleted while you were writing.').waitFor();
    await ada.reload();
    await ada.getByText('This post was deleted while you were writing.').waitFor();
    expect(await text(ada).inputValue()).toBe('Of Ada again');
    expect(await save(ada).count()).toBe(0);
    await ada.getByRole('button', { name: 'Discard it' }).click();
    await ada.getByText('This post does not exist.').waitFor();
    expect(await stored()).toBeNull();
  });
});
