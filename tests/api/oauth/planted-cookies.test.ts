import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  authorizeUrl,
  Browser,
  oauthClient,
  PKCE,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { type Visitor, visitor } from '../../support/credentials/session.ts';

const app = useApp();
const NAME = '__Host-oauth_browser';
const { challenge } = PKCE();
let client: TestClient;
let victim: Visitor;
beforeAll(async () => {
  client = await oauthClient(app, { owner: await app.account() });
  victim = await visitor(app);
});

/** Begins an authorization. The path of its page, and the cookie by which its browser is known. */
async function begun() {
  const browser = new Browser(app);
  const response = await browser.fetch(authorizeUrl(client, { challenge }));
  return { page: response.headers.get('location') ?? '', value: browser.cookie(NAME) ?? '' };
}

const open = async (path: string, cookies: string) => {
  const cookie = `${cookies}; ${victim.cookie}`;
  const { status, headers } = await app.fetch(path, { headers: { cookie }, redirect: 'manual' });
  return { status, sets: headers.getSetCookie() };
};

describe('the cookie of a browser that has begun a sign-in', () => {
  it('opens it, among others', async () => {
    const { page, value } = await begun();
    expect((await open(page, `theme=dark; ${NAME}=${value}`)).status).toBe(200);
  });

  // Browsers let a neighbouring host set these: they do not begin with `__Host-`.
  it.each([`\xa0${NAME}`, `\x85${NAME}`, `\xc2\xa0${NAME}`, `\v${NAME}`, `${NAME}\xa0`, NAME.toLowerCase()])(
    'is not one that looks like it, alone or beside the browser’s own: %j',
    async (name) => {
      const [attacker, own] = [await begun(), await begun()];
      const planted = `${name}=${attacker.value}`;
      const both = [`${planted}; ${NAME}=${own.value}`, `${NAME}=${own.value}; ${planted}`];
      for (const cookies of [planted, ...both])
        expect((await open(attacker.page, cookies)).status, cookies).toBe(400);
      for (const cookies of both) expect((await open(own.page, cookies)).status, cookies).toBe(400);
    },
  );

  it('is not one of two: then the next authorization gives the browser a new one', async () => {
    const [attacker, own] = [await begun(), await begun()];
    const twice = `${NAME}=${attacker.value}; ${NAME}=${own.value}`;
    expect((await open(attacker.page, twice)).status).toBe(400);
    expect((await open(own.page, twice)).status).toBe(400);
    const { status, sets } = await open(authorizeUrl(client, { challenge }), twice);
    expect([status, sets]).toEqual([
      303,
      [expect.stringMatching(/^__Host-oauth_browser=[\w-]{43}; Path=\//)],
    ]);
  });
});
