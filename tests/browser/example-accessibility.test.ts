import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { movePointerAway, signIn, startExample, waitUntilLive } from '../support/processes/example.ts';
import { createPosts } from '../support/processes/posts.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** A window of 1280 pixels at a zoom of 400 % (WCAG 2.2, success criterion 1.4.10). */
const NARROWEST = 320;
const WIDTHS = [390, 1280];
const SCHEMES = ['light', 'dark'] as const;

interface Finding {
  readonly rule: string;
  readonly elements: readonly string[];
}

/** What axe-core finds, of every severity. */
async function findings(page: Page): Promise<Finding[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(await readFile(AXE, 'utf8'));
  const results: AxeResults = await page.evaluate(() => Reflect.get(window, 'axe').run());
  return results.violations.map(({ id, nodes }) => ({ rule: id, elements: nodes.map(({ html }) => html) }));
}

async function overflow(page: Page): Promise<number> {
  return page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - window.innerWidth));
}

/** Checks what the page shows now, at every width and in both colour schemes. */
async function expectAccessible(page: Page, view: string): Promise<void> {
  await page.setViewportSize({ width: NARROWEST, height: 800 });
  expect({ view, overflow: await overflow(page) }).toEqual({ view, overflow: 0 });
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    for (const scheme of SCHEMES) {
      await page.emulateMedia({ colorScheme: scheme });
      expect({ view, width, scheme, found: await findings(page) }).toEqual({
        view,
        width,
        scheme,
        found: [],
      });
    }
  }
}

async function expectAccessibleSignIn(page: Page, password: string): Promise<void> {
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await expectAccessible(page, 'sign in');
  await page.getByLabel('E-mail').fill('ada@example.com');
  await page.getByLabel('Password').fill('not the password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await expectAccessible(page, 'sign in, refused');
  await signIn(page, 'Ada', password);
}

describe('the example page', () => {
  it('has nothing that axe-core objects to, and fits narrow windows', async () => {
    const example = await startExample();
    const { server, key } = example;
    const page = await example.open();
    // Colours that are on their way to others have no contrast to speak of.
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await expectAccessibleSignIn(page, example.password);
    await waitUntilLive(page);
    await page.getByRole('link', { name: 'On loops' }).focus();
    await createPosts(server, key, ['new']);
    await page.getByRole('button', { name: '1 new post' }).waitFor();
    await movePointerAway(page);
    await expectAccessible(page, 'list');
    const searchBox = page.getByRole('searchbox', { name: 'Search posts' });
    await searchBox.fill('loops');
    await page.getByText('1 post found.').waitFor();
    await expectAccessible(page, 'search');
    await searchBox.fill('nowhere');
    await page.getByText('No post found.').waitFor();
    await expectAccessible(page, 'search that finds nothing');
    await searchBox.press('Escape');

    await page.getByRole('link', { name: 'Notes on the Analytical Engine' }).click();
    await page.getByRole('heading', { name: 'Comments (3)' }).waitFor();
    await expectAccessible(page, 'post');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Keep it' }).waitFor();
    await expectAccessible(page, 'deletion');
    await page.getByRole('button', { name: 'Keep it' }).click();
    await page.locator('.comment').getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edit comment').fill('a draft');
    await expectAccessible(page, 'comment that is changed');
    await page.getByRole('button', { name: 'Cancel' }).click();
    const slug = /posts\/(.+)$/.exec(page.url())?.[1];
    const { data } = await server.gql('query ($slug: String!) { postBySlug(slug: $slug) { id } }', {
      key,
      variables: { slug },
    });
    const { id } = (data as { readonly postBySlug: { readonly id: string } }).postBySlug;
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Text').fill('a draft');
    const change = 'mutation ($id: ID!) { updatePost(id: $id, body: "of somebody else") { id } }';
    expect((await server.gql(change, { key, variables: { id } })).errors).toBeUndefined();
    await page.getByRole('region', { name: 'Text, as saved' }).waitFor();
    await expectAccessible(page, 'conflict');
    await page.getByRole('link', { name: 'New post' }).click();
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.locator('[aria-invalid=true]').first().waitFor();
    await expectAccessible(page, 'editor with an error');
    await page.getByRole('link', { name: 'Drafts' }).click();
    await page.getByRole('link', { name: 'On machines that compose music' }).waitFor();
    await expectAccessible(page, 'drafts');
    await page.getByRole('link', { name: 'On machines that compose music' }).click();
    await page.getByRole('button', { name: 'Save draft' }).waitFor();
    await expectAccessible(page, 'draft');
    await page.goto(`${example.url}#/users/ada`);
    await page.getByRole('link', { name: 'Edit your profile' }).waitFor();
    await page.locator('.posts h2').first().waitFor();
    await expectAccessible(page, 'profile');
    await page.getByRole('link', { name: 'Posts', exact: true }).click();
    await page.getByRole('link', { name: 'On loops' }).waitFor();

    server.kill('SIGKILL');
    await page.locator('[data-live=reconnecting]').waitFor();
    await expectAccessible(page, 'list, reconnecting');
    await page.getByRole('link', { name: 'On loops' }).click();
    await page.getByRole('alert').waitFor();
    await expectAccessible(page, 'post that cannot be loaded');
  });

  it('can be used with the keyboard alone, and leads the focus', async () => {
    const { open, password } = await startExample();
    const page = await open();
    await signIn(page, 'Ada', password);
    await page.getByRole('link', { name: 'On loops' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'On loops' }).waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim());
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    // Past the menu that sorts the list, and past the tags. The list follows its search box.
    await page.getByRole('searchbox', { name: 'Search posts' }).focus();
    await page.keyboard.press('Tab');
    const first = await focused();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /comments/i }).waitFor();
    expect(await focused()).toBe(first);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
    expect(await page.title()).toBe(`${first} – Content Graph API`);
    const current = () => page.locator('nav [aria-current=page]').allInnerTexts();
    expect(await current()).toEqual([]);
    // Back to where the reader was.
    await page.goBack();
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('A');
    expect(await focused()).toBe(first);
    // The way to where one is not.
    expect(await current()).toEqual(['Posts']);
    await page.getByRole('link', { name: 'New post' }).press('Enter');
    await page.getByRole('heading', { name: 'New post' }).waitFor();
    expect(await current()).toEqual(['New post']);
    const home = page.getByRole('contentinfo').getByRole('link', { name: 'Start page' });
    const url = new URL((await home.getAttribute('href')) ?? '', page.url());
    const opened = await page.request.get(url.href, { headers: { accept: 'text/html' } });
    expect(opened.status()).toBe(200);
  });
});
