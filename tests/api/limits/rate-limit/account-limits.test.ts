import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../../src/auth/api-keys.ts';
import { type TestApp, useApp } from '../../../support/app.ts';
import { askToken, oauthClient } from '../../../support/credentials/oauth.ts';
import { freshCookie, gqlAs, visitor } from '../../../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../../../support/credentials/tokens.ts';
import { requestStream } from '../../../support/streams/subscriber.ts';
import { steppedClock } from '../../../support/time/stepped-clock.ts';

const QUERY = '{ __typename }';
const clock = steppedClock(Date.now());
const app = useApp({
  settings: { JWT_SECRET, RATE_LIMIT_BURST: '100', RATE_LIMIT_PER_SECOND: '20' },
  clock,
});
const times = (count: number) => Array.from({ length: count }, (_, index) => index);
const remainingOf = ({ headers }: { headers: Headers }) => Number(headers.get('x-ratelimit-remaining'));

/** A way to call as an account. */
type Ask = () => Promise<{ status: number; headers: Headers }>;

const byKey =
  (key: string, service: TestApp = app): Ask =>
  () =>
    service.gql(QUERY, { key });

/** Asks so many times in each of the ways, in turn. How many were let in. */
async function allowedOf(asks: readonly Ask[], each: number): Promise<number> {
  let allowed = 0;
  for (const _ of times(each)) {
    const responses = await Promise.all(asks.map((ask) => ask()));
    allowed += responses.filter(({ status }) => status !== 429).length;
  }
  return allowed;
}

const keyOf = async (
  userId: string,
  limits: { burst?: number; perSecond?: number } = {},
  service: TestApp = app,
) =>
  (
    await createApiKey(service.database, {
      userId,
      name: 'k',
      scopes: ['posts:read'],
      ...limits,
    })
  ).key;

async function clientToken(owner: { id: string }): Promise<string> {
  const client = await oauthClient(app, { owner, grants: ['client_credentials'], scopes: ['posts:read'] });
  const { body } = await askToken(app, client, { grant_type: 'client_credentials' });
  return body.access_token;
}

describe('all credentials of an account together', () => {
  it('get four times the rate', async () => {
    const { id } = await app.account();
    const keys = await Promise.all(times(10).map(() => keyOf(id)));
    const asks = keys.map((key) => byKey(key));
    await allowedOf(asks, 50);
    for (const _ of times(5)) {
      clock.advance(1_000);
      expect(await allowedOf(asks, 20)).toBe(80);
    }
  });

  it.each([
    ['keys', 12, 0, 0, 0],
    ['keys and sessions', 5, 3, 0, 0],
    ['keys and a JWT', 5, 0, 1, 0],
    ['keys and an OAuth client', 5, 0, 0, 1],
    ['OAuth clients', 0, 0, 0, 6],
    ['OAuth clients and sessions', 0, 2, 0, 5],
    ['a few of each', 3, 3, 3, 3],
  ])('are counted together whatever they are: %s', async (_what, keys, sessions, tokens, clients) => {
    const person = await visitor(app);
    clock.advance(60_000);
    const asks: Ask[] = [];
    for (const _ of times(keys)) asks.push(byKey(await keyOf(person.id)));
    for (const _ of times(sessions)) {
      const cookie = await freshCookie(app, person.email);
      asks.push(() => gqlAs(app, cookie, QUERY));
    }
    for (const _ of times(tokens)) asks.push(byKey(await signToken(person.id)));
    for (const _ of times(clients)) asks.push(byKey(await clientToken(person)));
    expect(await allowedOf(asks, 130)).toBe(400);
  });

  it('leave what one client gets as it was, and another account its own', async () => {
    const { id, key } = await app.account();
    const other = await app.account();
    expect(await allowedOf([byKey(key)], 150)).toBe(100);
    const keys = await Promise.all(times(5).map(() => keyOf(id)));
    expect(
      await allowedOf(
        keys.map((one) => byKey(one)),
        100,
      ),
    ).toBe(300);
    expect(await allowedOf([byKey(other.key)], 150)).toBe(100);
  });

  it('get four times what a credential of theirs has for its own, where that is more', async () => {
    const { id, key: usual } = await app.account();
    const great = await Promise.all(times(5).map(() => keyOf(id, { burst: 300, perSecond: 100 })));
    expect(
      await allowedOf(
        great.map((key) => byKey(key)),
        310,
      ),
    ).toBe(1_200);
    clock.advance(1_000);
    expect(
      await allowedOf(
        great.map((key) => byKey(key)),
        110,
      ),
    ).toBe(400);
    clock.advance(60_000);
    const less = await keyOf(id, { burst: 3, perSecond: 1 });
    expect(await allowedOf([byKey(less)], 10)).toBe(3);
    expect(await allowedOf([byKey(usual)], 110)).toBe(100);
    expect(await allowedOf([byKey(await keyOf(id, { perSecond: 500 }))], 110)).toBe(100);
  });

  it('lose nothing by a request that is rejected: neither bucket is touched', async () => {
    const { id, key } = await app.account();
    const keys = await Promise.all(times(4).map(() => keyOf(id)));
    // Rejected by the client's bucket, which takes nothing from the account's.
    expect(await allowedOf([byKey(key)], 300)).toBe(100);
    expect(
      await allowedOf(
        keys.slice(0, 3).map((one) => byKey(one)),
        100,
      ),
    ).toBe(300);
    // Rejected by the account's bucket, which takes nothing from the client's.
    const last = byKey(keys[3] ?? '');
    expect(await allowedOf([last], 200)).toBe(0);
    clock.advance(5_000);
    expect(await allowedOf([last], 200)).toBe(100);
  });

  it('are told of in the headers once their bucket is the emptier one', async () => {
    const { id } = await app.account();
    const keys = await Promise.all(times(5).map(() => keyOf(id)));
    const [first = '', ...others] = keys;
    const before = await app.gql(QUERY, { key: first });
    expect(before.headers.get('x-ratelimit-limit')).toBe('100');
    expect(remainingOf(before)).toBe(99);
    expect(
      await allowedOf(
        others.map((key) => byKey(key)),
        98,
      ),
    ).toBe(392);
    const response = await app.gql(QUERY, { key: first });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ratelimit-limit')).toBe('400');
    expect(remainingOf(response)).toBe(6);
    expect(response.headers.get('ratelimit')).toBe('"default";r=6;t=5');
    expect(response.headers.get('ratelimit-policy')).toBe('"default";q=400;w=5');
    expect(Number(response.headers.get('x-ratelimit-reset'))).toBe(
      Math.ceil((clock.now() + (394 / 80) * 1_000) / 1_000),
    );
    while ((await app.gql(QUERY, { key: first })).status === 200);
    const rejected = await app.gql(QUERY, { key: first });
    expect(rejected.status).toBe(429);
    expect(rejected.errors?.[0]?.extensions.code).toBe('RATE_LIMITED');
    expect(rejected.errors?.[0]?.message).toMatch(/account/);
    expect(remainingOf(rejected)).toBe(0);
    expect(rejected.headers.get('retry-after')).toBe('1');
    clock.advance(1_000);
    expect((await app.gql(QUERY, { key: first })).status).toBe(200);
  });
});

describe('a bucket', () => {
  it.each([
    ['back', -86_400_000],
    ['forward', 86_400_000],
  ])('goes on filling as it says when the time of day is set %s', async (_way, ms) => {
    const { key } = await app.account();
    expect(await allowedOf([byKey(key)], 101)).toBe(100);
    clock.adjust(ms);
    const rejected = await app.gql(QUERY, { key });
    expect(rejected.status).toBe(429);
    expect(rejected.headers.get('x-ratelimit-reset')).toBe(String(Math.ceil((clock.now() + 5_000) / 1_000)));
    clock.advance(50);
    expect((await app.gql(QUERY, { key })).status).toBe(200);
    clock.adjust(-ms);
  });
});

describe('ACCOUNT_RATE_LIMIT_FACTOR', () => {
  const one = useApp({
    settings: {
      ACCOUNT_RATE_LIMIT_FACTOR: '1',
      RATE_LIMIT_BURST: '5',
      RATE_LIMIT_PER_SECOND: '0.001',
      MAX_STREAMS_PER_CLIENT: '2',
    },
  });

  it('says how many times the limits of one client an account gets', async () => {
    const { id } = await one.account();
    const keys = await Promise.all(times(3).map(() => keyOf(id, {}, one)));
    expect(
      await allowedOf(
        keys.map((key) => byKey(key, one)),
        5,
      ),
    ).toBe(5);
  });

  it('counts for event streams as well', async () => {
    const { id, key } = await one.account();
    const other = await keyOf(id, {}, one);
    const streams = [await requestStream(one, { key }), await requestStream(one, { key: other })];
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    expect((await requestStream(one, { key: other })).status).toBe(429);
    for (const { body } of streams) await body?.cancel();
  });
});

describe('the event streams of an account', () => {
  it('are four times those of a client, whatever it opens them with', async () => {
    clock.advance(60_000);
    const { id } = await app.account();
    const other = await app.account();
    const keys = await Promise.all(times(6).map(() => keyOf(id)));
    const streams: Response[] = [];
    for (const key of keys) for (const _ of times(10)) streams.push(await requestStream(app, { key }));
    expect(streams.filter(({ status }) => status === 200)).toHaveLength(40);
    const rejected = streams.at(-1);
    expect(rejected?.status).toBe(429);
    expect(await rejected?.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    const others = await requestStream(app, { key: other.key });
    expect(others.status).toBe(200);
    await streams[0]?.body?.cancel();
    await expect
      .poll(async () => {
        const again = await requestStream(app, { key: keys[5] ?? '' });
        await again.body?.cancel();
        clock.advance(1_000);
        return again.status;
      })
      .toBe(200);
    for (const { body, bodyUsed } of [...streams, others]) if (!bodyUsed) await body?.cancel();
  });
});
