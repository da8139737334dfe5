import { expect, it } from 'vitest';
import { ORIGIN, useApp } from '../../support/app.ts';
import { authorizeUrl, Browser, basic, oauthClient, PKCE } from '../../support/credentials/oauth.ts';

const app = useApp();
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

it('a response of OAuth has a content type exactly if it has a body, and /oauth/revoke responds with JSON', async () => {
  const client = await oauthClient(app, { owner: await app.account() });
  const { challenge } = PKCE();
  const browser = new Browser(app);
  const begun = await browser.fetch(authorizeUrl(client, { challenge }));
  const page = new URL(begun.headers.get('location') ?? '', ORIGIN).pathname;
  const cancelled = await browser.fetch(`${page}/cancel`, { method: 'POST', headers: FORM, body: '' });
  const preflight = await app.fetch('/oauth/token', { method: 'OPTIONS' });
  const headers = { ...FORM, ...basic(client) };
  const revoked = await app.fetch('/oauth/revoke', { method: 'POST', headers, body: 'token=unknown' });
  const found = [];
  for (const response of [begun, cancelled, preflight, revoked]) {
    const body = await response.text();
    const type = response.headers.get('content-type');
    expect(type !== null, `${type}: ${body}`).toBe(body !== '');
    found.push([response.status, type]);
  }
  expect(found.map(([status]) => status)).toEqual([303, 303, 204, 200]);
  expect(found.at(-1)).toEqual([200, 'application/json; charset=utf-8']);
});
