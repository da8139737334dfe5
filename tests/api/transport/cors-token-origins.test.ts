import { beforeAll, describe, expect, it } from 'vitest';
import { ORIGIN, useApp } from '../../support/app.ts';
import { authorizeUrl, Browser, oauthClient, PKCE } from '../../support/credentials/oauth.ts';
import { gqlAs, type Visitor, visitor } from '../../support/credentials/session.ts';
import { dataOf, expectForbidden } from '../../support/rejection.ts';

const APP = 'https://app.example.com';
const READER = 'https://reader.example.org';
const BOTH = 'https://both.example.com';
const app = useApp({
  settings: { CORS_ORIGINS: `${APP}, ${BOTH}`, CORS_TOKEN_ORIGINS: `${READER}, ${BOTH}` },
});
const CREATE_POST = 'mutation { createPost(title: "from a page", body: "b") { id } }';

let user: Visitor;
beforeAll(async () => {
  user = await visitor(app);
});
const countPosts = () => app.prisma.post.count({ where: { authorId: user.id } });
const readCors = ({ headers }: { readonly headers: Headers }) => [
  headers.get('access-control-allow-origin'),
  headers.get('access-control-allow-credentials'),
];
const sendPreflight = (origin: string) =>
  app.fetch('/graphql', {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });

describe('a page of CORS_TOKEN_ORIGINS', () => {
  it('can read responses to requests with a token, but not to requests with cookies', async () => {
    const result = await app.gql('{ viewer { id } }', { key: user.key, headers: { origin: READER } });
    expect(dataOf(result).viewer.id).toBe(user.id);
    expect(readCors(result)).toEqual([READER, null]);
    expect(result.headers.get('access-control-expose-headers')).toContain('X-Request-Id');
    const withCookie = await gqlAs(app, user.cookie, '{ viewer { id } }', { headers: { origin: READER } });
    expect(readCors(withCookie)).toEqual([READER, null]);
    const asked = await sendPreflight(READER);
    expect([asked.status, ...readCors(asked)]).toEqual([204, READER, null]);
    expect(asked.headers.get('access-control-allow-headers')).toContain('authorization');
    expect(asked.headers.get('access-control-allow-methods')).toMatch(/\bPOST\b/);
  });

  it('cannot use the session of its visitor: a mutation is 403 and changes nothing', async () => {
    const before = await countPosts();
    for (const idempotencyKey of [{}, { 'idempotency-key': 'of-a-page' }]) {
      const headers = { origin: READER, ...idempotencyKey };
      expectForbidden(await gqlAs(app, user.cookie, CREATE_POST, { headers }));
    }
    expect(await countPosts()).toBe(before);
    dataOf(await app.gql(CREATE_POST, { key: user.key, headers: { origin: READER } }));
    expect(await countPosts()).toBe(before + 1);
  });

  it.each(['/login', '/logout', '/graphql/stream-token'])('cannot post to %s with cookies', async (path) => {
    const headers = { origin: READER, cookie: user.cookie, 'content-type': 'application/json' };
    const response = await app.fetch(path, { method: 'POST', headers, body: '{}' });
    expect(response.status).toBe(403);
    expect((await gqlAs(app, user.cookie, '{ viewer { id } }')).status).toBe(200);
  });

  it('may use sessions if CORS_ORIGINS lists it too', async () => {
    const headers = { origin: BOTH };
    const result = await gqlAs(app, user.cookie, CREATE_POST, { headers });
    dataOf(result);
    expect(readCors(result)).toEqual([BOTH, 'true']);
    expect(readCors(await sendPreflight(BOTH))).toEqual([BOTH, 'true']);
  });

  it('leaves other origins without any CORS header', async () => {
    for (const origin of ['https://reader.example.org.evil.example', 'http://reader.example.org', 'null'])
      expect(readCors(await sendPreflight(origin))).toEqual([null, null]);
  });
});

describe('with CORS_TOKEN_ORIGINS alone', () => {
  const alone = useApp({ settings: { CORS_TOKEN_ORIGINS: READER } });

  it('every response has Vary: Origin', async () => {
    for (const origin of [{}, { origin: READER }, { origin: APP }]) {
      const { headers } = await alone.fetch('/health/live', { headers: origin });
      expect(headers.get('vary')?.toLowerCase().split(/,\s*/)).toContain('origin');
    }
  });
});

/** Whose page sends a form, and whether the service accepts it. */
const PAGES: readonly (readonly [string, Record<string, string>, boolean])[] = [
  ['a page of CORS_ORIGINS', { origin: APP, 'sec-fetch-site': 'cross-site' }, false],
  ['a page of CORS_ORIGINS on the same site', { origin: APP, 'sec-fetch-site': 'same-site' }, false],
  ['a page of CORS_TOKEN_ORIGINS', { origin: READER, 'sec-fetch-site': 'cross-site' }, false],
  ['a page that hides its origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }, false],
  ['a page of another site, without an origin', { 'sec-fetch-site': 'cross-site' }, false],
  ['its own page', { origin: ORIGIN, 'sec-fetch-site': 'same-origin' }, true],
  ['a program', {}, true],
];

describe.each(PAGES)('a form that comes from %s', (_page, headers, isAccepted) => {
  const form = { 'content-type': 'application/x-www-form-urlencoded', ...headers };

  it(`is ${isAccepted ? 'accepted' : '403'} at /account`, async () => {
    const { id, cookie } = await visitor(app, { name: 'before' });
    const body = new URLSearchParams({ do: 'update-profile', name: 'after' }).toString();
    const init = { method: 'POST', redirect: 'manual', headers: { cookie, ...form }, body } as const;
    expect((await app.fetch('/account', init)).status).toBe(isAccepted ? 303 : 403);
    const { name } = await app.prisma.user.findUniqueOrThrow({ where: { id } });
    expect(name).toBe(isAccepted ? 'after' : 'before');
  });

  it(`is ${isAccepted ? 'accepted' : '403'} at the consent of OAuth`, async () => {
    const { id, cookie } = await visitor(app);
    const client = await oauthClient(app, { owner: { id } });
    const browser = new Browser(app, { session_id: cookie.slice('session_id='.length) });
    const asked = await browser.open(authorizeUrl(client, { challenge: PKCE().challenge }));
    const page = await asked.response.text();
    const action = /action="([^"]+\/allow)"/.exec(page)?.[1] ?? '';
    const hidden = [...page.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)];
    const body = new URLSearchParams(hidden.map(([, name = '', value = '']) => [name, value])).toString();
    const responded = await browser.open(action, { method: 'POST', headers: form, body });
    if (!isAccepted) expect(responded.response.status).toBe(403);
    expect(responded.left?.searchParams.has('code') ?? false).toBe(isAccepted);
    expect(await app.prisma.oAuthGrant.count({ where: { userId: id } })).toBe(isAccepted ? 1 : 0);
  });
});
