import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  announcedIn,
  postsTitled,
  signIn,
  startExample,
  waitUntilLive,
} from '../support/processes/example.ts';

const NO_ANSWER = 'No answer yet. Your text is kept and sent again in';

async function fillPost(page: Page, title: string): Promise<void> {
  await page.getByRole('link', { name: 'New post' }).click();
  await page.getByLabel('Title').fill(title);
  await page.getByLabel('Text').fill('Some text.');
}

const publish = (page: Page) => page.getByRole('button', { name: 'Publish' }).click();

const keyOf = (route: Route) => route.request().headers()['idempotency-key'];

describe('the example page when something fails', () => {
  it('makes one post of several attempts, also when the server is killed and the page is loaded again', async () => {
    const { openSignedIn, server, key, restart } = await startExample();
    const page = await openSignedIn();
    const keys = new Set<string | undefined>();
    let attempts = 0;
    let isCut = true;
    let onFirst = () => Promise.resolve();
    // Mutations are carried out. Their responses are lost for as long as the connection is cut.
    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('mutation')) return route.continue();
      keys.add(keyOf(route));
      attempts += 1;
      if (!isCut) return route.continue();
      if (attempts === 1) {
        await route.fetch();
        await onFirst();
      }
      return route.abort('connectionreset');
    });
    await fillPost(page, 'Answered late');
    await publish(page);
    await page.getByText(NO_ANSWER).waitFor();
    isCut = false;
    await page.getByRole('heading', { name: 'Answered late' }).waitFor();
    expect(attempts).toBeGreaterThan(1);
    expect(keys.size).toBe(1);
    expect(await postsTitled(server, key, 'Answered late')).toBe(1);

    keys.clear();
    attempts = 0;
    isCut = true;
    onFirst = async () => {
      server.kill('SIGKILL');
      await server.exited;
    };
    await fillPost(page, 'Written twice');
    await publish(page);
    await page.getByText(NO_ANSWER).waitFor();
    const again = await restart();
    await page.reload();
    isCut = false;
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('Written twice');
    expect(await page.getByLabel('Text').inputValue()).toBe('Some text.');
    await publish(page);
    await page.getByRole('heading', { name: 'Written twice' }).waitFor();
    expect(keys.size).toBe(1);
    expect(await postsTitled(again, key, 'Written twice')).toBe(1);
  });

  it('says how long to wait after 429, and goes on by itself', async () => {
    const limits = { RATE_LIMIT_BURST: '8', RATE_LIMIT_PER_SECOND: '1' };
    const failures = { AUTH_FAILURE_BURST: '2', AUTH_FAILURE_REFILL_SECONDS: '600' };
    const { openSignedIn, open, api } = await startExample('own', { ...limits, ...failures });
    const page = await openSignedIn();
    await waitUntilLive(page);
    // Another application of the same person takes all that there is.
    await page.evaluate((url) => {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: '{"query":"{__typename}"}' };
      const flood = setInterval(() => fetch(url, init), 50);
      const takeAll = () => Promise.all(Array.from({ length: 12 }, () => fetch(url, init)));
      Object.assign(window, { endFlood: () => clearInterval(flood), takeAll });
    }, `${api}/graphql`);
    // The list may have one of its own.
    const notice = page
      .locator('.post [data-error=RATE_LIMITED]')
      .getByText(/Too many requests. Goes on by itself in\s+\d+ s/);
    await expect
      .poll(async () => {
        await page.getByRole('link', { name: 'On loops' }).click();
        await page.getByRole('heading', { name: 'No comments yet' }).or(notice).first().waitFor();
        if ((await notice.count()) > 0) return true;
        await page.getByRole('link', { name: 'All posts' }).click();
        return false;
      })
      .toBe(true);
    await page.evaluate(() => Reflect.get(window, 'endFlood')());
    await page.getByRole('heading', { name: 'No comments yet' }).waitFor();
    expect(await notice.count()).toBe(0);

    // Signing out takes a token too, and waits for one.
    await page.evaluate(() => Reflect.get(window, 'takeAll')().then(() => undefined));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const form = await open();
    const rejected = form.getByText(/Too many attempts. Try again in\s+\d{3} s/);
    // An attempt without a token is rejected for a second and does not count.
    for (let attempt = 0; !(await rejected.isVisible()); attempt += 1) {
      await form.getByLabel('E-mail').fill('nobody@example.com');
      await form.getByLabel('Password').fill(`wrong number ${attempt}`);
      await form.getByRole('button', { name: 'Sign in' }).click();
      await form.getByRole('alert').waitFor();
    }
    expect(await form.getByRole('button', { name: 'Sign in' }).isDisabled()).toBe(true);
  });

  it('goes on at once when the network or the stream is back, and is not live without a sign of life', async () => {
    const { openSignedIn, open, server, restart } = await startExample();
    const leader = await openSignedIn();
    await waitUntilLive(leader);
    const page = await open();
    await page.clock.install();
    await page.reload();
    await waitUntilLive(page);
    await page.getByRole('link', { name: 'On loops' }).click();
    await page.getByRole('heading', { name: 'No comments yet' }).waitFor();
    // From now on, no time passes in this tab.
    await page.clock.pauseAt(Date.now() + 3_600_000);
    /** Lets time pass until the next attempt is some seconds away. */
    const untilLongPause = async () => {
      const left = page.locator('.notice count-down [aria-hidden]').first();
      while (Number.parseInt(await left.innerText(), 10) < 4) await page.clock.runFor(500);
    };
    /** Lets the shortest pause pass, which separates an attempt from the one before. */
    const untilShortestPause = () => page.clock.runFor(300);
    const comment = async (text: string) => {
      await page.getByLabel('Your comment').fill(text);
      await page.getByRole('button', { name: 'Comment', exact: true }).click();
      await page.getByText(NO_ANSWER).waitFor();
      await untilLongPause();
    };
    const published = (text: string) => page.locator('.comment-body', { hasText: text }).waitFor();
    const goOnline = (tab: Page) => tab.evaluate(() => dispatchEvent(new Event('online')));

    await page.route('**/graphql', (route) =>
      keyOf(route) === undefined ? route.continue() : route.abort('connectionreset'),
    );
    await comment('Sent once the network is back');
    await page.unroute('**/graphql');
    await goOnline(page);
    await untilShortestPause();
    await published('Sent once the network is back');

    server.kill('SIGKILL');
    await server.exited;
    await page.locator('[data-live=reconnecting]').waitFor();
    await comment('Sent once the stream is back');
    const again = await restart();
    await goOnline(leader);
    await waitUntilLive(page);
    await untilShortestPause();
    await published('Sent once the stream is back');
    expect(await page.locator('.comment-body').count()).toBe(2);

    again.kill('SIGKILL');
    await again.exited;
    await page.locator('[data-live=reconnecting]').waitFor();
    await page.getByRole('link', { name: 'All posts' }).click();
    await page.getByRole('link', { name: 'Notes on the Analytical Engine' }).click();
    await page.getByText('The service does not answer.').waitFor();
    await untilLongPause();
    const last = await restart();
    await goOnline(leader);
    await waitUntilLive(page);
    await untilShortestPause();
    await page.getByRole('heading', { name: 'Comments (3)' }).waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    expect(await page.locator('.comment-body').count()).toBe(3);

    // Now this tab reads the stream. Heartbeats come every 12 seconds, as long as the service can send them.
    await leader.close();
    await expect.poll(() => announcedIn(page)).toContain('The page is not live. Another tab was closed.');
    await waitUntilLive(page);
    last.kill('SIGSTOP');
    await page.clock.runFor(29_000);
    await page.locator('[data-live=reconnecting]').getByText('No connection.').waitFor();
    last.kill('SIGCONT');
    await page.clock.resume();
    await goOnline(page);
    await waitUntilLive(page);
  });

  it('tells of responses that are not those of the service, and goes on', async () => {
    const { openSignedIn, context, url, server, key } = await startExample();
    const page = await openSignedIn();
    await waitUntilLive(page);
    await fillPost(page, 'Held back');
    const reject = (route: Route) => route.fulfill({ status: 403, json: { message: 'Forbidden' } });
    await page.route('**/graphql**', reject);
    await publish(page);
    await page.getByText('something on the way has answered with status 403.').waitFor();
    await page.unroute('**/graphql**');
    await publish(page);
    await page.getByRole('heading', { name: 'Held back' }).waitFor();
    expect(await postsTitled(server, key, 'Held back')).toBe(1);

    await page.route('**/graphql**', (route) =>
      route.fulfill({ status: 403, contentType: 'text/html', body: '<p>No access.</p>' }),
    );
    await page.getByRole('link', { name: 'All posts' }).click();
    await page.getByRole('link', { name: 'On loops' }).click();
    await page.getByText('something on the way has answered with status 403.').first().waitFor();
    const again = page.getByRole('button', { name: 'Try again' });
    await again.first().waitFor();
    await page.unroute('**/graphql**');
    await expect
      .poll(async () => {
        // Each may go while another is clicked: then it is looked at again.
        if ((await again.count()) > 0) await again.first().click({ timeout: 1_000 });
        return again.count();
      })
      .toBe(0);
    await page.getByRole('heading', { name: 'No comments yet' }).waitFor();

    const strange = await context.newPage();
    const network = { contentType: 'text/html', body: '<p>Sign in to this network.</p>' };
    await strange.route('**/login', (route) => route.fulfill(network));
    await strange.goto(url);
    await strange.getByRole('alert').waitFor();
    await strange.unroute('**/login');
    await strange.getByRole('button', { name: 'Try again' }).click();
    await waitUntilLive(strange);
  });

  it('keeps the text of a session that has ended for the same person, and follows its other tabs', async () => {
    const { openSignedIn, open, server, key, password, context } = await startExample();
    const page = await openSignedIn();
    // A stream that opens later would be rejected, and tell first.
    await waitUntilLive(page);
    await fillPost(page, 'Ada writes this');
    // Before that, a query that is still on its way would be rejected and tell.
    await page.route('**/graphql', async (route) => {
      if (keyOf(route) !== undefined) await context.clearCookies();
      return route.continue();
    });
    await publish(page);
    await page.getByRole('main').getByText('Your session has ended. Sign in to go on').waitFor();
    await page.unroute('**/graphql');
    // Somebody else signs in: the text is not theirs.
    await signIn(page, 'Grace', password);
    await page.getByRole('heading', { name: 'New post' }).waitFor();
    expect(await page.getByLabel('Title').inputValue()).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, 'Ada', password);
    expect(await page.getByLabel('Title').inputValue()).toBe('Ada writes this');
    await publish(page);
    await page.getByRole('heading', { name: 'Ada writes this' }).waitFor();
    expect(await postsTitled(server, key, 'Ada writes this')).toBe(1);

    const other = await open('#/new');
    await other.getByLabel('Title').fill('For Ada only');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await other.getByRole('main').getByText('Your session has ended. Sign in to go on').waitFor();
    await signIn(page, 'Grace', password);
    await other.getByRole('main').getByText('You are now signed in as Grace').waitFor();
    expect(await other.getByLabel('Title').inputValue()).toBe('');

    // What Grace has sent without a response is not sent again in Ada's session, and is kept for Grace.
    const sent: string[] = [];
    await other.route('**/graphql', (route) => {
      if (keyOf(route) === undefined) return route.continue();
      const { title } = route.request().postDataJSON().variables;
      sent.push(title);
      if (sent.filter((one) => one === 'Ada writes too').length === 2) return route.continue();
      // Those of Grace are tried again before those of Ada.
      const wait = { 'retry-after': title === 'Ada writes too' ? '5' : '3' };
      return route.fulfill({ status: 503, headers: wait, json: { errors: [] } });
    });
    await other.getByLabel('Title').fill('Grace writes this');
    await other.getByLabel('Text').fill('Some text.');
    await publish(other);
    await other.getByText('Your text is kept and sent again in').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, 'Ada', password);
    await other.getByRole('main').getByText('You are now signed in as Ada').waitFor();
    const before = sent.length;
    await fillPost(other, 'Ada writes too');
    await publish(other);
    await other.getByRole('heading', { name: 'Ada writes too' }).waitFor();
    expect(sent.slice(before)).toEqual(['Ada writes too', 'Ada writes too']);
    const kept = await other.evaluate(() => Object.entries(sessionStorage));
    expect(kept.map(([, value]) => /(Ada|Grace) writes/.exec(value)?.[1])).toEqual(['Grace', 'Grace']);
    expect(await other.locator('.account-name').allTextContents()).toEqual(['Ada']);
  });
});
