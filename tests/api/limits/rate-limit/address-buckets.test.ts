import { describe, expect, it } from 'vitest';
import { ORIGIN, useApp } from '../../../support/app.ts';
import { authorizeUrl, oauthClient, PKCE } from '../../../support/credentials/oauth.ts';
import { login } from '../../../support/credentials/session.ts';
import { steppedClock } from '../../../support/time/stepped-clock.ts';

const BURST = 100;
const PAGE = 'https://app.example';
const READER = 'https://reader.example';
const app = useApp({
  settings: {
    TRUST_PROXY: '127.0.0.1',
    CORS_ORIGINS: PAGE,
    CORS_TOKEN_ORIGINS: READER,
    RATE_LIMIT_BURST: String(BURST),
    RATE_LIMIT_PER_SECOND: '20',
  },
  clock: steppedClock(Date.now()),
});

type Headers = Record<string, string>;
let addresses = 0;
/** The header of an address that nobody has used before. */
function newAddress(): Headers {
  addresses += 1;
  return { 'x-forwarded-for': `198.51.100.${addresses}` };
}

const asks = {
  graphql: (headers: Headers) => app.fetch('/graphql?query={__typename}', { headers }),
  whoAmI: (headers: Headers) => app.fetch('/login', { headers }),
  // Rejected for its body, which costs no password hash.
  login: (headers: Headers) => login(app, '{}', headers),
  logout: (headers: Headers) => app.fetch('/logout', { method: 'POST', headers }),
  token: (headers: Headers) => app.fetch('/oauth/token', { method: 'POST', headers }),
  revoke: (headers: Headers) => app.fetch('/oauth/revoke', { method: 'POST', headers }),
};
type Ask = keyof typeof asks;

/** The statuses of so many requests, one after the other. */
async function statusesOf(ask: Ask, count: number, headers: Headers): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const response = await asks[ask](headers);
    statuses.push(response.status);
    await response.body?.cancel();
  }
  return statuses;
}

/** What the next request of a kind finds left in its bucket. */
async function leftFor(ask: Ask, headers: Headers): Promise<number> {
  const response = await asks[ask](headers);
  await response.body?.cancel();
  return Number(response.headers.get('x-ratelimit-remaining'));
}

/** Each with the bucket it takes from. */
const BUCKETS: Readonly<Record<Ask, string>> = {
  graphql: 'requests',
  logout: 'requests',
  whoAmI: 'log-ins',
  login: 'log-ins',
  token: 'tokens',
  revoke: 'tokens',
};
const ASKS = Object.keys(asks) as Ask[];

describe('an address without credentials', () => {
  it.each(['graphql', 'login', 'token'] as const)(
    'that uses up the bucket of one kind has the others: %s',
    async (ask) => {
      const address = newAddress();
      expect((await statusesOf(ask, BURST + 1, address)).at(-1)).toBe(429);
      for (const other of ASKS) {
        const sameBucket = BUCKETS[other] === BUCKETS[ask];
        expect([other, (await asks[other](address)).status === 429]).toEqual([other, sameBucket]);
      }
    },
  );
});

/** What browsers say of what pages of other sites make them send. */
const SHOWN: readonly (readonly [string, Headers])[] = [
  ['an image of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }],
  ['an image of a neighbouring host', { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'image' }],
  [
    'a script of another site that fetches',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty', origin: 'https://evil.example' },
  ],
  [
    'a form of another site, in a frame',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'iframe', origin: 'https://evil.example' },
  ],
  [
    'a form of another site, in a window',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document', origin: 'https://evil.example' },
  ],
  [
    'a form of a neighbouring host',
    { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'document', origin: 'https://evil.127.0.0.1' },
  ],
];

describe('what pages of other sites have browsers send without credentials', () => {
  it.each(SHOWN)('counts apart from all of the address, whatever its path: %s', async (_what, said) => {
    const address = newAddress();
    for (const ask of ASKS)
      expect(await leftFor(ask, { ...address, ...said })).toBeLessThan(BURST - ASKS.indexOf(ask));
    for (const ask of ASKS) await statusesOf(ask, BURST / 4, { ...address, ...said });
    for (const ask of ASKS) expect((await asks[ask]({ ...address, ...said })).status).toBe(429);
    for (const ask of ['graphql', 'login', 'token'] as const)
      expect([ask, await leftFor(ask, address)]).toEqual([ask, BURST - 1]);
  });

  it('does not keep users from the pages of a sign-in, to which applications on other sites send them', async () => {
    const address = newAddress();
    const client = await oauthClient(app, { owner: await app.account() });
    await statusesOf('graphql', 130, { ...address, ...SHOWN[0]?.[1] });
    const headers = { ...address, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' };
    const begin = () =>
      app.fetch(authorizeUrl(client, { challenge: PKCE().challenge }), { headers, redirect: 'manual' });
    expect((await begin()).status).toBe(303);
    for (let i = 1; i < BURST; i += 1) await begin();
    expect((await begin()).status).toBe(429);
    expect(await leftFor('login', address)).toBe(BURST - 1);
  });
});

describe('a page that may use the service', () => {
  it.each([
    ['of CORS_ORIGINS, on another site', { origin: PAGE, 'sec-fetch-site': 'cross-site' }],
    ['of CORS_ORIGINS, on a neighbouring host', { origin: PAGE, 'sec-fetch-site': 'same-site' }],
    ['of CORS_TOKEN_ORIGINS', { origin: READER, 'sec-fetch-site': 'cross-site' }],
    ['of the service', { origin: ORIGIN, 'sec-fetch-site': 'same-origin' }],
    ['of the service, that only reads', { 'sec-fetch-site': 'same-origin' }],
  ])('counts as its address does: %s', async (_whose, said) => {
    const address = newAddress();
    const page = { ...address, ...said, 'sec-fetch-dest': 'empty' };
    for (const ask of ['graphql', 'login', 'token'] as const)
      expect([ask, await leftFor(ask, page), await leftFor(ask, address)]).toEqual([
        ask,
        BURST - 1,
        BURST - 2,
      ]);
  });
});

describe('no header', () => {
  it('lets a client without credentials have more than two buckets of a kind', async () => {
    const address = newAddress();
    const tries = ['cross-site', 'same-site', 'same-origin', 'none', 'anything'].flatMap((site) =>
      ['image', 'document', 'empty', 'anything'].map((dest) => ({
        ...address,
        'sec-fetch-site': site,
        'sec-fetch-dest': dest,
        origin: site === 'anything' ? 'https://elsewhere.example' : ORIGIN,
      })),
    );
    let allowed = 0;
    for (const headers of [...tries, ...tries])
      allowed += (await statusesOf('graphql', 30, headers)).filter((status) => status !== 429).length;
    expect(allowed).toBe(2 * BURST);
  });

  it('makes what has credentials count elsewhere', async () => {
    const { key } = await app.account();
    const ask = (said: Headers) => app.gql('{ __typename }', { key, headers: said });
    expect((await ask({})).headers.get('x-ratelimit-remaining')).toBe(String(BURST - 1));
    for (const [index, [, said]] of SHOWN.entries())
      expect((await ask(said)).headers.get('x-ratelimit-remaining')).toBe(String(BURST - 2 - index));
  });
});
