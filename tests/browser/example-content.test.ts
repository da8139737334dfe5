import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openBrowser } from '../support/processes/browser.ts';
import {
  type Example,
  movePointerAway,
  signIn,
  startExample,
  titlesOf,
  waitUntilLive,
} from '../support/processes/example.ts';
import { createPosts } from '../support/processes/posts.ts';

const CREATE =
  'mutation ($title: String!, $body: String!) { createPost(title: $title, body: $body) { id slug } }';
const RENAME = 'mutation ($id: ID!, $slug: String!) { updatePost(id: $id, slug: $slug) { slug } }';

interface Created {
  readonly id: string;
  readonly slug: string;
}

async function createPost({ server, key }: Example, title: string, body: string): Promise<Created> {
  const { data } = await server.gql(CREATE, { key, variables: { title, body } });
  return (data as { readonly createPost: Created }).createPost;
}

async function run({ server, key }: Example, document: string, variables: object): Promise<void> {
  expect((await server.gql(document, { key, variables })).errors).toBeUndefined();
}

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });
const addressOf = (page: Page) => new URL(page.url()).hash;
/** What a browser does when a person comes back to its window. */
const comeBack = (page: Page) => page.evaluate(() => window.dispatchEvent(new Event('focus')));

/** A second browser, which has nothing of the first one. */
async function signInElsewhere({ url, api, password }: Example, name: string): Promise<Page> {
  const browser = await openBrowser(new URL(url).origin, { others: [api] });
  onTestFinished(browser.close);
  const page = await browser.context.newPage();
  await page.goto(url);
  await signIn(page, name, password);
  return page;
}

describe('the example page', () => {
  it('shows a post at its slug, and leads to it from a former slug and from its id', async () => {
    const example = await startExample();
    const { id, slug } = await createPost(example, 'A title', 'Some text.');
    expect(slug).toBe('a-title');
    const page = await example.openSignedIn();
    await page.getByRole('link', { name: 'A title' }).click();
    await page.getByRole('heading', { name: /comments/i }).waitFor();
    expect(addressOf(page)).toBe('#/posts/a-title');
    await waitUntilLive(page);
    await run(example, RENAME, { id, slug: 'another-name' });
    await expect.poll(() => addressOf(page)).toBe('#/posts/another-name');
    for (const name of ['a-title', id]) {
      const linked = await example.open(`#/posts/${name}`);
      await heading(linked, 'A title').waitFor();
      await expect.poll(() => addressOf(linked)).toBe('#/posts/another-name');
    }
    const missing = await example.open('#/posts/no-such-post');
    await missing.getByText('This post does not exist.').waitFor();
  });

  it('lists the beginning of each post, and reads no more of it', async () => {
    const example = await startExample();
    await createPost(example, 'A great many', `${'many words and '.repeat(100)}the last word`);
    const page = await example.open();
    const texts: string[] = [];
    page.on('response', async (response) => {
      if (new URL(response.url()).pathname === '/graphql') texts.push(await response.text().catch(() => ''));
    });
    await signIn(page, 'Ada', example.password);
    const row = page.locator('.row', { hasText: 'A great many' });
    await expect.poll(() => row.locator('.excerpt').innerText()).toMatch(/^many words and [\s\S]*…$/);
    await expect.poll(() => texts.some((text) => text.includes('"excerpt"'))).toBe(true);
    expect(texts.join()).not.toContain('the last word');
    await row.getByRole('link', { name: 'A great many' }).click();
    await page.locator('.post-body').getByText('the last word').waitFor();
  });

  it('sorts the list, keeps the order in the address, and shows changes in it', async () => {
    const example = await startExample();
    const { server, key } = example;
    const { id } = await createPost(example, 'early', 'b');
    await createPosts(server, key, ['late']);
    const page = await example.openSignedIn();
    await waitUntilLive(page);
    const newest = await titlesOf(page);
    expect(newest.slice(0, 2)).toEqual(['late', 'early']);
    const sort = page.getByLabel('Sort by');
    await sort.selectOption('Oldest');
    await expect.poll(() => titlesOf(page)).toEqual(newest.toReversed());
    expect(addressOf(page)).toBe('#/?sort=oldest');
    await createPosts(server, key, ['last']);
    await expect.poll(async () => (await titlesOf(page)).at(-1)).toBe('last');
    await sort.selectOption('Recently updated');
    await expect.poll(async () => (await titlesOf(page)).slice(0, 3)).toEqual(['last', 'late', 'early']);
    const update = 'mutation ($id: ID!, $title: String!) { updatePost(id: $id, title: $title) { id } }';
    await run(example, update, { id, title: 'early, changed' });
    await expect.poll(async () => (await titlesOf(page)).slice(0, 2)).toEqual(['early, changed', 'last']);
    // Under a reader, nothing moves.
    await page.getByRole('link', { name: 'late', exact: true }).focus();
    await run(example, update, { id, title: 'early, changed again' });
    await page.getByRole('button', { name: '1 changed post' }).click();
    await expect
      .poll(async () => (await titlesOf(page)).slice(0, 2))
      .toEqual(['early, changed again', 'last']);
    await page.reload();
    await expect.poll(() => sort.inputValue()).toBe('updated');
    await expect.poll(async () => (await titlesOf(page))[0]).toBe('early, changed again');
  });

  it('shows the profile of a user by handle or id, with the posts of this user', async () => {
    const example = await startExample();
    const page = await example.openSignedIn();
    await page.locator('.row', { hasText: 'On loops' }).getByRole('link', { name: 'Ada' }).click();
    await heading(page, 'Ada').waitFor();
    expect(addressOf(page)).toBe('#/users/ada');
    await page.getByText('@ada', { exact: true }).waitFor();
    await page.getByText('Writes programs for machines that are not built yet.').waitFor();
    await expect.poll(() => titlesOf(page)).toEqual(['On loops', 'Notes on the Analytical Engine']);
    await waitUntilLive(page);
    await movePointerAway(page);
    await createPosts(example.server, example.key, ['of Ada']);
    await expect.poll(async () => (await titlesOf(page))[0]).toBe('of Ada');
    expect(await page.getByRole('link', { name: 'Edit your profile' }).getAttribute('href')).toMatch(
      /\/account$/,
    );

    // The picture comes from another origin, which learns nothing of the page.
    const picture = 'https://pictures.example/ada.svg';
    const referrers: (string | undefined)[] = [];
    await page.route(picture, (route) => {
      referrers.push(route.request().headers().referer);
      return route.fulfill({
        contentType: 'image/svg+xml',
        body: '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>',
      });
    });
    await page.evaluate(async (avatarUrl) => {
      const query = 'mutation ($avatarUrl: String!) { updateViewer(avatarUrl: $avatarUrl) { id } }';
      const headers = { 'content-type': 'application/json' };
      await fetch('/graphql', {
        method: 'POST',
        headers,
        body: JSON.stringify({ query, variables: { avatarUrl } }),
      });
    }, picture);
    await comeBack(page);
    const image = page.locator('.profile .avatar img');
    await expect
      .poll(() => image.evaluate((shown) => shown instanceof HTMLImageElement && shown.naturalWidth))
      .toBe(8);
    expect(referrers).toEqual([undefined]);

    const { data } = await example.server.gql('{ userByHandle(handle: "linus") { id } }', {
      key: example.key,
    });
    const { id } = (data as { readonly userByHandle: { readonly id: string } }).userByHandle;
    await page.goto(`${example.url}#/users/${id}`);
    await heading(page, 'Linus').waitFor();
    expect(await page.getByRole('link', { name: 'Edit your profile' }).count()).toBe(0);
    await page.goto(`${example.url}#/users/nobody`);
    await page.getByText('This user does not exist.').waitFor();
    expect(example.browser.strayRequests).toEqual([]);
  });

  it('brings drafts to another device of the same user, and to no one else', async () => {
    const example = await startExample();
    const desk = await example.openSignedIn();
    await desk.getByRole('link', { name: 'New post' }).click();
    await desk.getByLabel('Title').fill('Begun at the desk');
    await desk.getByLabel('Text', { exact: true }).fill('A first line.');
    await desk.getByRole('button', { name: 'Save draft' }).click();
    await heading(desk, 'Draft').waitFor();

    const phone = await signInElsewhere(example, 'Ada');
    await phone.getByRole('link', { name: 'Drafts' }).click();
    await phone.getByRole('link', { name: 'Begun at the desk' }).click();
    const text = (page: Page) => page.getByLabel('Text', { exact: true });
    await expect.poll(() => text(phone).inputValue()).toBe('A first line.');
    // Its author comes back to the phone.
    await text(desk).fill('A better line.');
    await desk.getByRole('button', { name: 'Save draft' }).click();
    await expect.poll(() => desk.getByText('Not saved', { exact: true }).count()).toBe(0);
    expect(await text(desk).inputValue()).toBe('A better line.');
    await comeBack(phone);
    await expect.poll(() => text(phone).inputValue()).toBe('A better line.');

    // Both devices have changed it.
    await text(desk).fill('Of the desk.');
    await desk.getByRole('button', { name: 'Save draft' }).click();
    await expect.poll(() => desk.getByText('Not saved', { exact: true }).count()).toBe(0);
    await text(phone).fill('Of the phone.');
    await phone.getByRole('button', { name: 'Publish' }).click();
    await phone.getByRole('region', { name: 'Text, as saved' }).getByText('Of the desk.').waitFor();
    expect(await text(phone).inputValue()).toBe('Of the phone.');
    await phone.getByRole('button', { name: 'Keep mine' }).click();

    const grace = await signInElsewhere(example, 'Grace');
    await grace.getByRole('link', { name: 'Drafts' }).click();
    await grace.getByText('You have no drafts.').waitFor();
    const address = addressOf(phone);
    await grace.goto(example.url + address);
    await grace.getByText('This draft does not exist.').waitFor();

    await phone.getByRole('button', { name: 'Publish' }).click();
    await heading(phone, 'Begun at the desk').waitFor();
    expect(addressOf(phone)).toBe('#/posts/begun-at-the-desk');
    expect(await phone.locator('.post-body').innerText()).toBe('Of the phone.');
    await comeBack(desk);
    await desk.getByText('This draft does not exist.').waitFor();
    await desk.getByRole('link', { name: 'Drafts' }).click();
    await desk.getByRole('link', { name: 'On machines that compose music' }).click();
    await desk.getByRole('button', { name: 'Delete', exact: true }).click();
    await desk.getByRole('button', { name: 'Delete draft' }).click();
    await desk.getByText('You have no drafts.').waitFor();
  });

  it('keeps a draft that breaks a rule of posts, and says which', async () => {
    const example = await startExample();
    const page = await example.openSignedIn();
    await page.getByRole('link', { name: 'New post' }).click();
    await page.getByLabel('Text', { exact: true }).fill('Without a title.');
    await page.getByRole('button', { name: 'Save draft' }).click();
    await heading(page, 'Draft').waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    await expect.poll(() => page.getByLabel('Title').getAttribute('aria-invalid')).toBe('true');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('title');
    await page.getByLabel('Title').fill('Now with a title');
    await page.getByRole('button', { name: 'Publish' }).dblclick();
    await heading(page, 'Now with a title').waitFor();
    await page.getByRole('link', { name: 'Drafts' }).click();
    await page.getByRole('link', { name: 'On machines that compose music' }).waitFor();
    expect(await titlesOf(page)).toEqual(['On machines that compose music']);
  });
});
