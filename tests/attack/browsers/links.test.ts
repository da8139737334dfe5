import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { cookieOf, login } from '../../support/credentials/session.ts';
import { deployment, graphql, service } from '../support/attacker.ts';
import { BROWSERS } from '../support/browsers.ts';
import { PASSWORD } from '../support/deployment.ts';
import { NAMES } from '../support/front.ts';
import { seen, useBrowser, useSites, type Visitor } from '../support/visitor.ts';

const { admin, origin } = deployment;
const sites = useSites();
const CHOSEN = 'a password that the owner has chosen';
const OTHER = 'a password that another site has chosen';

let cookie = '';
beforeAll(async () => {
  cookie = cookieOf(await login(service, { email: admin.email, password: PASSWORD }));
});

/** Somebody new, and the link that an admin sends them. */
async function invited(): Promise<{ readonly email: string; readonly link: string }> {
  const email = `${randomUUID()}@example.com`;
  const { data } = await graphql(
    `mutation { inviteUser(email: "${email}", name: "Invited", currentPassword: "${PASSWORD}") { url } }`,
    { cookie },
  );
  return { email, link: data.inviteUser.url };
}

const statusOfLogin = async (email: string, password: string) =>
  (await login(service, { email, password })).status;

/** A form of another site that sends a password to a link, to a frame, a window or in place of the page. */
const forged = (link: string, target: string) => `
  <iframe name="frame"></iframe>
  <form method="post" action="${link}" target="${target}"><input name="password" value="${OTHER}"><input name="again" value="${OTHER}"></form>
  <script>document.forms[0].submit()</script>`;

describe.each(BROWSERS)('a link to set a password, in %s', (name) => {
  const browser = useBrowser(name);

  async function choose(visitor: Visitor, link: string) {
    const page = await visitor.page(link);
    await page.type('#new-password', CHOSEN);
    await page.type('#again', CHOSEN);
    await Promise.all([page.waitForNavigation(), page.click('button')]);
    return page;
  }

  it('is used by the form of its page, which signs nobody in and tells its address to no other site', async () => {
    const { email, link } = await invited();
    expect(new URL(link).origin).toBe(origin);
    const visitor = await browser.visit();
    const page = await choose(visitor, link);
    expect(await page.title()).toContain('Your password is set');
    expect(page.url()).toBe(link);
    expect(await visitor.sessions()).toEqual([]);
    expect(await statusOfLogin(email, CHOSEN)).toBe(200);
    const asked = sites().show(
      NAMES.evil,
      '/from',
      '<script>document.title = "[" + document.referrer + "]"</script>',
    );
    await Promise.all([page.waitForNavigation(), page.evaluate((to) => location.assign(to), asked)]);
    await expect.poll(() => page.title()).toBe('[]');
  });

  it.each(['frame', '_blank', '_self'])(
    'is not used by a form of another site that sends it to %s',
    async (target) => {
      const { email, link } = await invited();
      const visitor = await browser.visit();
      const path = `/forged-${randomUUID()}`;
      await visitor.page(sites().show(NAMES.evil, path, forged(link, target)));
      const token = new URL(link).search;
      const sent = async () => (await seen(token)).filter(({ method }) => method === 'POST');
      await expect
        .poll(async () => (await sent()).map(({ status }) => status))
        .toEqual([target === 'frame' ? 400 : 403]);
      // The link is still good for its owner, who comes later.
      await choose(await browser.visit(), link);
      expect(await statusOfLogin(email, CHOSEN)).toBe(200);
      expect(await statusOfLogin(email, OTHER)).toBe(401);
    },
  );
});
