import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  type Example,
  movePointerAway,
  startExample,
  titlesOf,
  waitUntilLive,
} from '../support/processes/example.ts';
import { createPosts } from '../support/processes/posts.ts';

const searchBox = (page: Page) => page.getByRole('searchbox', { name: 'Search posts' });
const tagLink = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Tags' }).getByRole('link', { name });
const hashOf = (page: Page) => new URL(page.url()).hash;
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent);

/** The variables of a search, or undefined for another request. */
function searchOf(route: Route) {
  const { query = '', variables } = route.request().postDataJSON() ?? {};
  return query.includes('searchPosts(') ? variables : undefined;
}

/** The queries that the page has sent so far. */
async function watchSearches(page: Page): Promise<readonly string[]> {
  const sent: string[] = [];
  await page.route('**/graphql', (route) => {
    const { query } = searchOf(route) ?? {};
    if (query !== undefined) sent.push(query);
    return route.continue();
  });
  return sent;
}

/** Waits until the index has a post. */
async function waitUntilFound({ server, key }: Example, query: string): Promise<void> {
  const document = 'query ($query: String!) { searchPosts(query: $query) { nodes { id } } }';
  await expect
    .poll(async () => JSON.stringify((await server.gql(document, { key, variables: { query } })).data))
    .toContain('"id"');
}

/** The service whose index has the demo data, the oldest post of which comes last. */
async function startIndexed(): Promise<Example> {
  const example = await startExample();
  await waitUntilFound(example, 'analytical');
  return example;
}

describe('the search of the example page', () => {
  it('begins when the reader pauses, and shows a post that is written meanwhile', async () => {
    const example = await startIndexed();
    const page = await example.openSignedIn();
    const sent = await watchSearches(page);
    await page.clock.install();
    await page.reload();
    await waitUntilLive(page);
    await page.locator('.posts h2').first().waitFor();
    // From now on, no time passes.
    await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1_000);
    await searchBox(page).pressSequentially('zebras st');
    await page.clock.runFor(199);
    expect(sent).toEqual([]);
    await page.clock.runFor(1);
    await page.getByRole('status').getByText('No post found.').waitFor();
    // Two letters are a whole word for the service.
    expect(sent).toEqual(['zebras st']);
    await page.clock.resume();
    await searchBox(page).fill('zebras stripe');
    await expect.poll(() => sent.at(-1)).toBe('zebras stripe*');
    await createPosts(example.server, example.key, ['Zebras are striped']);
    await waitUntilFound(example, 'zebras');
    // Every change has the page search again.
    await createPosts(example.server, example.key, ['Horses are not']);
    await expect.poll(() => titlesOf(page)).toEqual(['Zebras are striped']);
    await page.getByRole('status').getByText('1 post found.').waitFor();
    expect(await searchBox(page).evaluate((box) => box === document.activeElement)).toBe(true);
  });

  it('is in the address, and is done with the keyboard alone', async () => {
    const { openSignedIn } = await startIndexed();
    const page = await openSignedIn();
    await expect.poll(async () => (await titlesOf(page)).length).toBe(6);
    const all = await titlesOf(page);
    await searchBox(page).focus();
    await page.keyboard.type('"operations is"');
    await page.keyboard.press('Enter');
    await expect.poll(() => titlesOf(page)).toEqual(['On loops']);
    expect(hashOf(page)).toBe('#/?q=%22operations+is%22');
    expect(await page.title()).toBe('"operations is" – Posts – Content Graph API');
    await page.reload();
    await expect.poll(() => titlesOf(page)).toEqual(['On loops']);
    expect(await searchBox(page).inputValue()).toBe('"operations is"');
    await searchBox(page).press('Enter');
    expect(await focused(page)).toBe('On loops');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'No comments yet' }).waitFor();
    await page.goBack();
    await expect.poll(() => focused(page)).toBe('On loops');
    expect(await searchBox(page).inputValue()).toBe('"operations is"');
    await searchBox(page).press('Escape');
    await expect.poll(() => titlesOf(page)).toEqual(all);
    expect([hashOf(page), await searchBox(page).inputValue()]).toEqual(['#/', '']);
    await searchBox(page).fill('one two three four five six seven eight nine');
    await page.getByRole('alert').getByText('must have at most 8 words, but has 9.').waitFor();
  });

  it('reads on after short pages, and shows nothing of an earlier search that is answered late', async () => {
    const { openSignedIn } = await startIndexed();
    const page = await openSignedIn();
    const late = Promise.withResolvers<Route>();
    const aborted: string[] = [];
    page.on('requestfailed', (request) => aborted.push(request.postData() ?? ''));
    await page.route('**/graphql', (route) => {
      const search = searchOf(route);
      if (search?.query === 'moth*') return late.resolve(route);
      if (search === undefined) return route.continue();
      if (search.after === 'the rest') {
        const body = { ...route.request().postDataJSON(), variables: { ...search, after: null } };
        return route.continue({ postData: JSON.stringify(body) });
      }
      const pageInfo = { hasNextPage: true, endCursor: 'the rest' };
      return route.fulfill({ json: { data: { searchPosts: { nodes: [], pageInfo } } } });
    });
    await searchBox(page).fill('moth');
    const held = await late.promise;
    await searchBox(page).fill('loops');
    await expect.poll(() => titlesOf(page)).toEqual(['On loops']);
    await expect.poll(() => aborted).toContainEqual(expect.stringContaining('"moth*"'));
    await held
      .fulfill({ json: { data: {} } })
      .catch((error: Error) => expect(error.message).toMatch(/abort|closed/i));
  });
});

describe('the tags of the example page', () => {
  it('have counts that follow, and filter the list and the search', async () => {
    const { openSignedIn, server, key } = await startIndexed();
    const page = await openSignedIn();
    await waitUntilLive(page);
    await tagLink(page, 'computing 3').click();
    await page.getByRole('heading', { name: 'Posts tagged “computing”' }).waitFor();
    await expect.poll(async () => (await titlesOf(page)).length).toBe(3);
    // The next tag is one key away.
    expect(await focused(page)).toMatch(/computing\s+3/);
    expect(await tagLink(page, 'computing').getAttribute('aria-current')).toBe('true');
    await movePointerAway(page);
    await searchBox(page).fill('bug');
    await expect.poll(() => titlesOf(page)).toEqual(['A moth in relay 70']);
    await tagLink(page, 'open source').click();
    await page.getByText('No post found.').waitFor();
    expect(hashOf(page)).toBe('#/tags/open%20source?q=bug');
    await tagLink(page, 'All posts').click();
    await expect.poll(() => titlesOf(page)).toEqual(['A moth in relay 70']);
    const tagged = 'mutation { createPost(title: "bugs", body: "b", tags: ["open source"]) { id } }';
    expect((await server.gql(tagged, { key })).errors).toBeUndefined();
    await tagLink(page, 'open source 3').waitFor();
  });
});
