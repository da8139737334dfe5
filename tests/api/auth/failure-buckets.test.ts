import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { oauthClient, postForm } from '../../support/credentials/oauth.ts';
import { gqlAs, login, PASSWORD, person, visitor } from '../../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../../support/credentials/tokens.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

const QUERY = '{ __typename }';
const app = useApp({
  settings: {
    JWT_SECRET,
    TRUST_PROXY: '127.0.0.1',
    AUTH_FAILURE_BURST: '10',
    AUTH_FAILURE_REFILL_SECONDS: '30',
    RATE_LIMIT_BURST: '100',
    RATE_LIMIT_PER_SECOND: '20',
  },
  clock: steppedClock(Date.now()),
});
const times = (count: number) => Array.from({ length: count }, (_, index) => index);
let addresses = 0;
/** The headers of a browser at an address that nobody has used before. */
function newBrowser(): { readonly 'x-forwarded-for': string } {
  addresses += 1;
  return { 'x-forwarded-for': `198.51.100.${addresses}` };
}

/** What the browser says of an image on another site's page. */
const IMAGE = {
  accept: 'image/avif,image/webp,*/*;q=0.8',
  'sec-fetch-dest': 'image',
  'sec-fetch-mode': 'no-cors',
  'sec-fetch-site': 'cross-site',
};

describe('a page that makes browsers send bad credentials cannot lock a login out', () => {
  it.each([
    ['eleven images', 11, '/favicon.ico?api_key=x', {}],
    ['images of any size', 300, '/favicon.ico?api_key=x', {}],
    ['images of the endpoint', 300, '/graphql?api_key=x&query={__typename}', {}],
    ['images with a key in the right form', 300, '/graphql?api_key=cga_0000000000000000000000000000000', {}],
    ['an encoded name', 300, '/graphql?api%5Fkey=x', {}],
    ['a planted cookie', 300, '/graphql', { cookie: `session_id=${'A'.repeat(43)}` }],
    ['two planted cookies', 300, '/graphql', { cookie: 'session_id=a; session_id=b' }],
    ['both', 150, '/graphql?api_key=x', { cookie: 'session_id=a' }],
    ['a header', 300, '/graphql', { authorization: 'Bearer wrong' }],
    ['a malformed header', 300, '/nowhere', { authorization: 'Negotiate x' }],
  ])('%s', async (_what, count, path, headers) => {
    const browser = newBrowser();
    const { email } = await person(app);
    const statuses: number[] = [];
    for (const _ of times(count)) {
      const response = await app.fetch(path, { headers: { ...browser, ...IMAGE, ...headers } });
      statuses.push(response.status);
      await response.body?.cancel();
    }
    expect(statuses.at(-1)).toBe(429);
    expect((await login(app, { email, password: PASSWORD }, browser)).status).toBe(200);
  });
});

describe('while the bucket of failed credentials is empty', () => {
  it('valid keys, tokens and sessions pass from that address, and only failures are 429', async () => {
    const browser = newBrowser();
    const { id, key, cookie } = await visitor(app);
    const client = await oauthClient(app, { owner: { id }, grants: ['client_credentials'] });
    const bad = () => app.gql(QUERY, { key: 'wrong', headers: browser });
    for (const _ of times(10)) expect((await bad()).status).toBe(401);
    const rejected = await bad();
    expect(rejected.status).toBe(429);
    expect(rejected.headers.get('retry-after')).toBe('30');
    expect((await app.gql(QUERY, { key, headers: browser })).status).toBe(200);
    expect((await app.gql(QUERY, { key: await signToken(id), headers: browser })).status).toBe(200);
    expect((await gqlAs(app, cookie, QUERY, { headers: browser })).status).toBe(200);
    const { headers, body } = await postForm(
      app,
      '/oauth/token',
      { grant_type: 'client_credentials', client_id: client.id, client_secret: client.secret },
      browser,
    );
    expect(headers.get('content-type')).toMatch(/json/);
    expect((await app.gql(QUERY, { key: body.access_token, headers: browser })).status).toBe(200);
    expect((await bad()).status).toBe(429);
  });

  it('nothing that a client can set exempts from it', async () => {
    const browser = newBrowser();
    const variants: Record<string, string>[] = [
      IMAGE,
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none', purpose: 'prefetch' },
      { origin: 'https://elsewhere.example' },
      { 'user-agent': 'kube-probe/1.30' },
      { 'x-real-ip': '203.0.113.1', forwarded: 'for=203.0.113.1' },
      { 'x-request-id': 'another', 'idempotency-key': 'k' },
      { accept: 'text/event-stream' },
    ];
    for (const _ of times(10)) await app.gql(QUERY, { key: 'wrong', headers: browser });
    for (const headers of variants)
      expect((await app.gql(QUERY, { key: 'wrong', headers: { ...browser, ...headers } })).status).toBe(429);
  });
});

describe('while the bucket of failed logins is empty', () => {
  it('bad credentials are still told so', async () => {
    const browser = newBrowser();
    const wrong = { email: 'nobody@example.com', password: 'wrong' };
    for (const _ of times(10)) expect((await login(app, wrong, browser)).status).toBe(401);
    expect((await login(app, wrong, browser)).status).toBe(429);
    expect((await app.gql(QUERY, { key: 'wrong', headers: browser })).status).toBe(401);
  });
});

describe.each(['/oauth/introspect', '/oauth/revoke', '/oauth/token'])('POST %s', (path) => {
  it('takes a token of the address before anything else, and tells of it', async () => {
    const browser = newBrowser();
    const ask = () => postForm(app, path, { token: 'x', client_id: 'x', client_secret: 'y' }, browser);
    const first = await ask();
    expect(first.status).not.toBe(429);
    expect(first.headers.get('x-ratelimit-limit')).toBe('100');
    expect(first.headers.get('x-ratelimit-remaining')).toBe('99');
    for (const _ of times(99)) await ask();
    const { status, headers, body } = await ask();
    expect(status).toBe(429);
    expect(body.error).toBe('temporarily_unavailable');
    // Of the bucket of requests, and not that of failures.
    expect(headers.get('retry-after')).toBe('1');
    // And of its own.
    expect((await app.gql(QUERY, { headers: browser })).status).toBe(200);
  });
});
