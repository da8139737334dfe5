import { describe, expect, it } from 'vitest';
import { Browser } from '../../support/credentials/oauth.ts';
import { cookieOf, login } from '../../support/credentials/session.ts';
import { deployment, service } from '../support/attacker.ts';
import { authorization } from '../support/authorization.ts';
import { BROWSERS } from '../support/browsers.ts';
import { PASSWORD } from '../support/deployment.ts';
import { NAMES } from '../support/front.ts';
import { held, useBrowser, useSites, type Visitor } from '../support/visitor.ts';

const { ada, grace, origin } = deployment;
const sites = useSites();

/** Ada is the attacker, with an account like any other. */
const MALLORY = { email: ada.email, password: PASSWORD };

/**
 * What a name begins with that some programs take for a blank and browsers for a letter: such a name has no prefix
 * `__Host-`, and a sibling domain may set it for the whole domain (RFC 6265bis section 5.7).
 */
const BLANKS = [
  ['U+00A0', '\xa0'],
  ['U+0085', '\x85'],
] as const;

/** An authorization that the attacker has begun with a program: its page, and the cookie that it belongs to. */
async function begun(): Promise<{ readonly page: string; readonly value: string }> {
  const first = await service.fetch(authorization({ at: '' }));
  const value = cookieOf(first).split('=')[1];
  const page = first.headers.get('location');
  if (value === undefined || page === null) throw new Error(`not begun: ${first.status}`);
  return { page: new URL(page, origin).href, value };
}

/** Has the visitor come past a sibling domain that sets cookies for the whole domain. */
const plant = async (visitor: Visitor, ...cookies: readonly string[]) => {
  const headers = {
    'set-cookie': cookies.map((cookie) => `${cookie}; Domain=corp.test; Secure; SameSite=Lax`),
  };
  const page = await visitor.page(
    sites().show(NAMES.sibling, '/plant', { body: '<h1>Kittens</h1>', headers }),
  );
  await page.close();
};

describe.each(BROWSERS)('cookies that a sibling domain plants in %s', (name) => {
  const browser = useBrowser(name);

  /** Grace, with a session and an authorization of her own under way. */
  async function victim() {
    const grown = await browser.visit();
    await grown.signIn(grace);
    const page = await grown.page(authorization());
    return { grown, page };
  }

  it.each(BLANKS)(
    'lead nobody into an authorization of another browser: a name after %s',
    async (_what, blank) => {
      const { page, value } = await begun();
      const { grown, page: tab } = await victim();
      const before = await held();
      await plant(grown, `${blank}__Host-oauth_browser=${value}; Path=/oauth/`);
      await tab.goto(page);
      const text = await tab.$eval('main', ({ innerText }) => innerText);
      expect(text).not.toContain(grace.email);
      expect(text).toContain('another browser');
      expect(await held()).toEqual(before);
      const mallory = new Browser(service, { '__Host-oauth_browser': value }, origin);
      expect(await (await mallory.fetch(new URL(page).pathname)).text()).not.toContain(grace.email);
    },
  );

  it('do not take the name of a cookie that belongs to the host', async () => {
    const { page, value } = await begun();
    const { grown, page: tab } = await victim();
    await plant(
      grown,
      ...[
        '__Host-oauth_browser',
        '__host-OAuth_browser',
        ' __Host-oauth_browser',
        '\t__Host-oauth_browser',
      ].map((planted) => `${planted}=${value}; Path=/oauth/`),
      `=__Host-oauth_browser=${value}; Path=/oauth/`,
    );
    await tab.goto(page);
    const text = await tab.$eval('main', ({ innerText }) => innerText);
    expect(text).toContain('another browser');
  });

  it.each([
    ['for every path', '; Path=/', ''],
    ['for a longer path', '; Path=/graphql', ''],
    ['after U+00A0', '; Path=/graphql', '\xa0'],
    ['after U+0085', '; Path=/graphql', '\x85'],
  ])('sign nobody in as somebody else beside a session: %s', async (_what, attributes, blank) => {
    const session = cookieOf(await login(service, MALLORY));
    const grown = await browser.visit();
    const page = await grown.signIn(grace);
    const [own] = await grown.sessions();
    await plant(grown, `${blank}${session}${attributes}`);
    const before = await held();
    const { status, text } = await page.evaluate(async () => {
      const body = JSON.stringify({ query: 'mutation { createPost(title: "Diary", body: "Mine.") { id } }' });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch('/graphql', { method: 'POST', headers, body });
      return { status: response.status, text: await response.text() };
    });
    expect([status, JSON.parse(text).data?.createPost]).toEqual([401, undefined]);
    expect(await held()).toEqual(before);
    // Nothing that others plant ends it.
    expect(await grown.sessions()).toEqual([own]);
    expect(await grown.who()).toBe(grace.email);
  });

  it.each(BLANKS)('sign nobody in whose name begins with %s', async (_what, blank) => {
    const session = cookieOf(await login(service, MALLORY));
    const grown = await browser.visit();
    await plant(grown, `${blank}${session}; Path=/`);
    const page = await grown.page(`${origin}/login`);
    expect(await page.evaluate(async () => (await fetch('/login')).json())).toEqual({ user: null });
  });
});
