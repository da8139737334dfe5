import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  authorizeClient,
  authorizeUrl,
  Browser,
  exchangeCode,
  oauthClient,
  PKCE,
  statusWith,
} from '../../support/credentials/oauth.ts';
import { freshCookie, gqlAs, person } from '../../support/credentials/session.ts';
import { dataOf } from '../../support/rejection.ts';

const app = useApp();

it('An application that somebody has allowed stands on the account page, and is revoked there', async () => {
  const user = await person(app);
  const client = await oauthClient(app, { owner: await app.account(), name: 'Reading <List>' });
  const { body } = await exchangeCode(app, client, await authorizeClient(app, client, user));
  const cookie = await freshCookie(app, user.email);
  const shown = async () => (await app.fetch('/account', { headers: { cookie } })).text();
  const [, section = ''] = (await shown()).split('Applications with access');
  expect(section).toContain('Reading &lt;List&gt;');
  expect(section).toContain('Read posts, comments, tags');
  const { viewer } = dataOf(await gqlAs(app, cookie, '{ viewer { oauthGrants { id } } }'));
  const revoked = await app.fetch('/account', {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ do: 'revoke-grant', id: viewer.oauthGrants[0].id }),
  });
  expect(revoked.status).toBe(303);
  await expect.poll(() => statusWith(app, body.access_token)).toBe(401);
  expect(await shown()).toContain('You have given no application access');
});

it('The page that asks for consent leads to the account page, where access is revoked', async () => {
  const user = await person(app);
  const client = await oauthClient(app, { owner: await app.account() });
  const browser = new Browser(app);
  const { response } = await browser.open(authorizeUrl(client, { challenge: PKCE().challenge }));
  const consent = await browser.submit(await response.text(), { email: user.email, password: user.password });
  expect(await consent.response.text()).toContain('<a href="/account">your account</a>');
});
