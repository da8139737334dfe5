import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  authorizeUrl,
  Browser,
  oauthClient,
  PKCE,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { type Person, person } from '../../support/credentials/session.ts';

const app = useApp({
  settings: { TRUST_PROXY: '127.0.0.1', RATE_LIMIT_BURST: '100', RATE_LIMIT_PER_SECOND: '0.001' },
});
const from = { 'x-forwarded-for': '198.51.100.1' };
const { challenge } = PKCE();
let client: TestClient;
let user: Person;
beforeAll(async () => {
  user = await person(app);
  client = await oauthClient(app, { owner: await app.account() });
});

const stored = () => app.prisma.oAuthRecord.count();
/** What a browser says of what a page of another site shows. */
const shownAs = (destination: string) => ({
  ...from,
  'sec-fetch-dest': destination,
  'sec-fetch-mode': 'no-cors',
  'sec-fetch-site': 'cross-site',
});
/** What it says where a page sends the user on. */
const NAVIGATION = { ...shownAs('document'), 'sec-fetch-mode': 'navigate' };

async function signIn() {
  const browser = new Browser(app);
  const { response } = await browser.open(authorizeUrl(client, { challenge }), { headers: NAVIGATION });
  return { browser, page: await response.text() };
}

describe('the pages of a sign-in are documents', () => {
  it('which images of another page neither count for nor discard', async () => {
    const { browser, page } = await signIn();
    const before = await stored();
    for (let i = 0; i < 105; i += 1) {
      const response = await app.fetch(authorizeUrl(client, { challenge }), {
        headers: shownAs('image'),
        redirect: 'manual',
      });
      expect([response.status, response.headers.getSetCookie()]).toEqual([400, []]);
    }
    expect(await stored()).toBe(before);
    const { response } = await browser.submit(page, { email: user.email, password: user.password });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('Signed in as');
  });

  it.each(['iframe', 'image', 'script', 'empty', 'object', 'Document', ''])(
    'and are 400 as %j, on a page of their own',
    async (destination) => {
      const { browser, page } = await signIn();
      const path = /action="([^"]+)\/login"/.exec(page)?.[1] ?? '';
      for (const asked of [authorizeUrl(client, { challenge }), path]) {
        const response = await browser.fetch(asked, { headers: shownAs(destination) });
        expect([response.status, response.headers.get('content-type')]).toEqual([
          400,
          'text/html; charset=utf-8',
        ]);
        expect(await response.text()).toContain('in a separate tab or window');
      }
    },
  );

  it('and so are what their forms lead to, whose posts change nothing in a frame', async () => {
    const { browser, page } = await signIn();
    const path = /action="([^"]+)\/login"/.exec(page)?.[1] ?? '';
    for (const form of ['login', 'allow', 'cancel']) {
      const response = await browser.fetch(`${path}/${form}`, {
        method: 'POST',
        headers: { ...from, 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ email: user.email, password: user.password }),
      });
      expect(response.status).toBe(400);
    }
    expect(browser.cookie('session_id')).toBeUndefined();
    expect((await browser.fetch(path, { headers: NAVIGATION })).status).toBe(200);
  });

  it('and open where a browser says nothing', async () => {
    const response = await app.fetch(authorizeUrl(client, { challenge }), {
      headers: from,
      redirect: 'manual',
    });
    expect(response.status).toBe(303);
  });
});
