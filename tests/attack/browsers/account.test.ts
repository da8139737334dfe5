import { randomUUID } from 'node:crypto';
import type { Page } from 'puppeteer-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { cookieOf, login } from '../../support/credentials/session.ts';
import { deployment, graphql, service } from '../support/attacker.ts';
import { signInAt, textOf } from '../support/authorization.ts';
import { BROWSERS } from '../support/browsers.ts';
import { PASSWORD } from '../support/deployment.ts';
import { NAMES } from '../support/front.ts';
import { responded, useBrowser, useSites, type Visitor } from '../support/visitor.ts';

const { admin, origin } = deployment;
const sites = useSites();
const FIRST = 'the first password of somebody new';
const SECOND = 'the second password of somebody new';

let adminCookie = '';
beforeAll(async () => {
  adminCookie = cookieOf(await login(service, { email: admin.email, password: PASSWORD }));
});

async function linkBy(mutation: string, args: string): Promise<string> {
  const { data } = await graphql(
    `mutation { link: ${mutation}(${args}, currentPassword: "${PASSWORD}") { url } }`,
    { cookie: adminCookie },
  );
  return data.link.url;
}

/** Somebody new, and the link that an admin sends them. */
async function invited() {
  const email = `${randomUUID()}@example.com`;
  return { email, link: await linkBy('inviteUser', `email: "${email}", name: "New"`) };
}

const statusOf = async (headers: Record<string, string>) =>
  (await graphql('{ viewer { id } }', headers)).status;

/** Submits the form that has a button, as its user does. */
async function submit(page: Page, button: string): Promise<void> {
  const found = await page.waitForSelector(`button::-p-text(${button})`);
  await Promise.all([page.waitForNavigation(), found?.click()]);
}

async function choose(page: Page, password: string): Promise<void> {
  await page.type('#new-password', password);
  await page.type('#again', password);
  await submit(page, 'Set the password');
}

async function unfold(page: Page, summary: string): Promise<void> {
  const found = await page.waitForSelector(`summary::-p-text(${summary})`);
  await found?.click();
}

/** A form of another site, sent to a frame, a window or in place of the page. */
const forged = (fields: Record<string, string>, target: string, mark: string) => `
  <iframe name="frame"></iframe>
  <form method="post" action="${origin}/account?mark=${mark}" target="${target}">${Object.entries(fields)
    .map(([name, value]) => `<input name="${name}" value="${value}">`)
    .join('')}</form>
  <script>document.forms[0].submit()</script>`;

describe.each(BROWSERS)('the account page, in %s', (name) => {
  const browser = useBrowser(name);

  /** Somebody new who is signed in at the page. */
  async function signedIn(): Promise<{ visitor: Visitor; page: Page; email: string }> {
    const { email, link } = await invited();
    const visitor = await browser.visit();
    const page = await visitor.page(link);
    await choose(page, FIRST);
    await Promise.all([page.waitForNavigation(), page.click('a.button')]);
    expect(page.url()).toBe(`${origin}/account`);
    await signInAt(page, email, FIRST);
    await expect.poll(() => textOf(page)).toContain('current session');
    return { visitor, page, email };
  }

  it('is the whole way: invited, signed in, a key, signed out by a reset, and everything revoked', async () => {
    const { visitor, page, email } = await signedIn();
    await unfold(page, 'Create an API key');
    await page.type('#key-name', 'Script');
    await page.click('input[value="posts:read"]');
    await page.click('input[value="users:read"]');
    await page.type('#key-password', FIRST);
    await submit(page, 'Create the key');
    const key = await page.$eval('#key', (input) => (input instanceof HTMLInputElement ? input.value : ''));
    expect(await statusOf({ authorization: `Bearer ${key}` })).toBe(200);

    const other = await browser.visit();
    const reset = await other.page(await linkBy('createResetLink', `email: "${email}"`));
    await choose(reset, SECOND);
    // The reset has ended the session, and left the key.
    await page.goto(`${origin}/account`);
    expect(await textOf(page)).toContain('Sign in');
    expect(await visitor.sessions()).toEqual([]);
    expect(await statusOf({ authorization: `Bearer ${key}` })).toBe(200);
    await signInAt(page, email, SECOND);
    await expect.poll(() => textOf(page)).toContain('Script');

    await unfold(page, 'Revoke everything');
    await page.type('#everything-password', SECOND);
    await submit(page, 'Revoke everything');
    expect(await textOf(page)).toContain('Everything is revoked');
    expect(await visitor.sessions()).toEqual([]);
    await expect.poll(() => statusOf({ authorization: `Bearer ${key}` })).toBe(401);
    await signInAt(page, email, SECOND);
    await expect.poll(() => textOf(page)).toContain('You have no API keys.');
  });

  it('does nothing for a form of another site, whether it sends it to a frame, a window or in place of its page', async () => {
    const { visitor, email } = await signedIn();
    const [session = ''] = await visitor.sessions();
    for (const target of ['frame', '_blank', '_self'])
      for (const fields of [
        { do: 'update-profile', name: 'Mallory' },
        { do: 'sign-out' },
        { do: 'revoke-everything', currentPassword: FIRST },
        { do: 'sign-in', email: admin.email, password: PASSWORD },
      ]) {
        const mark = randomUUID();
        const page = await visitor.page(sites().show(NAMES.evil, `/${mark}`, forged(fields, target, mark)));
        const [request] = await responded(mark);
        expect(request?.status, `${fields.do} to ${target}`).toBe(target === 'frame' ? 400 : 403);
        await page.close();
      }
    expect(await visitor.sessions()).toEqual([session]);
    const page = await visitor.page(`${origin}/account`);
    const text = await textOf(page);
    expect(text).toContain(email);
    expect(text).not.toContain('Mallory');
  });

  it('is shown to its owner whom another site leads there, and in no frame of it', async () => {
    const { visitor, email } = await signedIn();
    const mark = randomUUID();
    const kittens = `<a href="${origin}/account">your account</a><iframe src="${origin}/account?mark=${mark}"></iframe>`;
    const page = await visitor.page(sites().show(NAMES.evil, `/${mark}`, kittens));
    expect((await responded(mark))[0]?.status).toBe(400);
    await page.click('a');
    await expect.poll(() => textOf(page)).toContain(email);
  });
});
