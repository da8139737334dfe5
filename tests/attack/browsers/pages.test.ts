import { randomUUID } from 'node:crypto';
import type { Page } from 'puppeteer-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { deployment } from '../support/attacker.ts';
import { authorization, click, textOf } from '../support/authorization.ts';
import { BROWSERS } from '../support/browsers.ts';
import { NAMES } from '../support/front.ts';
import { held, responded, useBrowser, useSites, type Visitor } from '../support/visitor.ts';

const { grace, origin } = deployment;
const sites = useSites();

const STRANGERS = [
  ['another site', NAMES.evil],
  ['a sibling domain', NAMES.sibling],
] as const;

describe.each(BROWSERS)('the pages of an authorization in %s', (name) => {
  const browser = useBrowser(name);

  async function victim(): Promise<Visitor> {
    const visitor = await browser.visit();
    await (await visitor.signIn(grace)).close();
    return visitor;
  }

  it.each(STRANGERS)('are in no frame, and begin nothing for a frame: of %s', async (_what, host) => {
    const visitor = await victim();
    const mark = randomUUID();
    const before = await held();
    const page = await visitor.page(sites().show(host, '/', '<h1>Kittens</h1>'));
    await page.evaluate((src) => {
      for (const element of ['iframe', 'object', 'embed'])
        document.body.append(Object.assign(document.createElement(element), { src, data: src }));
    }, `${authorization()}&mark=${mark}`);
    const requests = await responded(mark, 3);
    expect(new Set(requests.map(({ status }) => status))).toEqual(new Set([400]));
    expect(await held()).toEqual(before);
  });

  it.each(STRANGERS)('begin nothing for a prefetch: of %s', async (_what, host) => {
    const visitor = await victim();
    const mark = randomUUID();
    const before = await held();
    const page = await visitor.page(sites().show(host, '/', '<h1>Kittens</h1>'));
    await page.evaluate((href) => {
      document.head.append(Object.assign(document.createElement('link'), { rel: 'prefetch', href }));
    }, `${authorization()}&mark=${mark}`);
    const [request] = await responded(mark);
    expect(request).toMatchObject({ status: 400, purpose: expect.stringContaining('prefetch') });
    expect(await held()).toEqual(before);
  });

  it.each(STRANGERS)('stay where they are while %s has opened them', async (_what, host) => {
    const visitor = await victim();
    const opener = await visitor.page(sites().show(host, '/', '<h1>Kittens</h1>'));
    const opened = await popUp(visitor, opener, authorization());
    await expect.poll(() => textOf(opened)).toContain(grace.email);
    // As good as closed for who has opened it: it can neither lead it elsewhere nor see where it goes.
    await expect.poll(() => opener.evaluate(() => Reflect.get(window, 'opened').closed)).toBe(true);
    expect(await opened.evaluate(() => window.opener === null)).toBe(true);
  });

  it('lead back to the application that has opened them in a window of their own', async () => {
    const visitor = await victim();
    const application = await visitor.page(sites().show(NAMES.application, '/', '<h1>Reading list</h1>'));
    const state = randomUUID();
    const opened = await popUp(visitor, application, authorization({ state }));
    await expect.poll(() => textOf(opened)).toContain(grace.email);
    await click(opened, 'Allow');
    const back = () => sites().returns.find(({ searchParams }) => searchParams.get('state') === state);
    await expect.poll(() => back()?.searchParams.has('code')).toBe(true);
  });

  it('and the account page, are shown to their owner whom another site leads there, and in no frame of it', async () => {
    const visitor = await victim();
    const mark = randomUUID();
    const html = `<a href="${origin}/account">your account</a><iframe src="${origin}/account?mark=${mark}"></iframe>`;
    const page = await visitor.page(sites().show(NAMES.evil, `/${mark}`, html));
    expect((await responded(mark))[0]?.status).toBe(400);
    await page.click('a');
    await expect.poll(() => textOf(page)).toContain(grace.email);
  });

  it('show nothing of who has logged out to who goes back', async () => {
    const visitor = await victim();
    const [consent, account] = [await visitor.page(authorization()), await visitor.page(`${origin}/login`)];
    expect(await textOf(consent)).toContain(grace.email);
    expect(await whoIsShown(account)).toBe(grace.email);
    const away = sites().show(NAMES.evil, '/', '<h1>Kittens</h1>');
    const elsewhere = await visitor.page(`${origin}/login`);
    await Promise.all([consent.goto(away), account.goto(away)]);
    expect(await elsewhere.evaluate(async () => (await fetch('/logout', { method: 'POST' })).status)).toBe(
      204,
    );
    await consent.goBack();
    expect(await textOf(consent)).toMatch(/^Sign in\n/);
    await account.goBack();
    expect(await whoIsShown(account)).toBeUndefined();
  });
});

/** Of the account of `GET /login`, as the page has it. */
const whoIsShown = (page: Page): Promise<string | undefined> =>
  page.evaluate(() => JSON.parse(document.body.innerText).user?.email);

/** The window that a page opens. */
async function popUp(visitor: Visitor, opener: Page, url: string): Promise<Page> {
  const before = new Set(await visitor.context.pages());
  await opener.evaluate((to) => {
    Reflect.set(window, 'opened', window.open(to, 'opened', 'popup'));
  }, url);
  const opened = async () => (await visitor.context.pages()).find((page) => !before.has(page));
  await expect.poll(opened).toBeDefined();
  const page = await opened();
  if (page === undefined) throw new Error('no window was opened');
  onTestFinished(() => page.close());
  return page;
}
