import { beforeEach, describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { steppedClock } from '../../../support/time/stepped-clock.ts';

const BURST = 100;
const PER_SECOND = 20;
const LIMITS = { RATE_LIMIT_BURST: String(BURST), RATE_LIMIT_PER_SECOND: String(PER_SECOND) };
const QUERY = '{ __typename }';
const STATES = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'ratelimit-policy',
];

const clock = steppedClock();
const app = useApp({ settings: LIMITS, clock });
let client: Account;
beforeEach(async () => {
  client = await app.account();
});

const ask = (key = client.key, headers: Record<string, string> = {}) => app.gql(QUERY, { key, headers });
async function exhaust(key = client.key): Promise<void> {
  while ((await ask(key)).status !== 429);
}

describe('a bucket', () => {
  it('gives exactly its burst and what flows in, however fast a client asks; another notices nothing', async () => {
    const other = await app.account();
    let allowed = 0;
    for (let batch = 0; batch < 20; batch += 1) {
      const responses = await Promise.all(Array.from({ length: 50 }, () => ask()));
      allowed += responses.filter(({ status }) => status !== 429).length;
      expect((await ask(other.key)).headers.get('x-ratelimit-remaining')).toBe(String(BURST - 1));
      clock.advance(100);
      if (batch % 10 === 9) clock.advance(5_000);
    }
    // Ten steps of 100 ms, five seconds that fill it, nine steps more.
    expect(allowed).toBe(BURST + 9 * 2 + BURST + 9 * 2);
  });

  it('is told of on every response', async () => {
    const [first, second] = [await ask(), await ask()];
    expect(first.headers.get('x-ratelimit-limit')).toBe('100');
    expect(first.headers.get('x-ratelimit-remaining')).toBe('99');
    expect(first.headers.get('ratelimit')).toBe('"default";r=99;t=1');
    expect(first.headers.get('ratelimit-policy')).toBe('"default";q=100;w=5');
    expect(Number(first.headers.get('x-ratelimit-reset'))).toBe(Math.ceil((clock.now() + 50) / 1000));
    expect(second.headers.get('x-ratelimit-remaining')).toBe('98');
    expect(Number(second.headers.get('x-ratelimit-reset'))).toBe(Math.ceil((clock.now() + 100) / 1000));
    expect(first.headers.has('retry-after')).toBe(false);
  });

  it('answers 429 when it is empty, and says when to come back', async () => {
    await exhaust();
    const { status, headers, data, errors } = await ask();
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toBe('1');
    expect(headers.get('x-ratelimit-remaining')).toBe('0');
    expect(headers.get('ratelimit')).toBe('"default";r=0;t=5');
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(data).toBeUndefined();
    expect(errors).toEqual([{ message: expect.any(String), extensions: { code: 'RATE_LIMITED' } }]);
    clock.advance(49);
    expect((await ask()).status).toBe(429);
    clock.advance(1);
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(429);
  });

  it('answers 429 to what is no GraphQL at all, without reading it', async () => {
    await exhaust();
    const authorization = `Bearer ${client.key}`;
    const send = (init: RequestInit) =>
      app.fetch('/graphql', { method: 'POST', ...init, headers: { authorization, ...init.headers } });
    expect((await send({ body: 'no JSON' })).status).toBe(429);
    expect((await send({ body: '{}', headers: { accept: 'image/png' } })).status).toBe(429);
    expect((await app.fetch('/graphql?query={x}', { headers: { authorization } })).status).toBe(429);
    expect((await app.fetch('/graphql', { method: 'PUT', headers: { authorization } })).status).toBe(429);
    const subscription = await send({
      body: JSON.stringify({ query: 'subscription { postCreated { id } }' }),
      headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
    });
    expect(subscription.status).toBe(429);
  });
});

describe('the headers of the bucket', () => {
  const json = { 'content-type': 'application/json' };
  const post = (body: string, headers: Record<string, string> = {}) =>
    app.fetch('/graphql', {
      method: 'POST',
      body,
      headers: { ...json, authorization: `Bearer ${client.key}`, ...headers },
    });
  const cases: readonly (readonly [string, number, () => Promise<Response>])[] = [
    ['of bad credentials', 401, () => post('{}', { authorization: 'Bearer wrong' })],
    ['of a body past its limit', 413, () => post(`"${'x'.repeat(1_100_000)}"`)],
    [
      'of a failed login',
      401,
      () =>
        app.fetch('/login', {
          method: 'POST',
          headers: json,
          body: '{"email":"nobody@example.com","password":"wrong"}',
        }),
    ],
    [
      'of an event stream',
      200,
      () => post('{"query":"subscription { postCreated { id } }"}', { accept: 'text/event-stream' }),
    ],
  ];

  it.each(cases)('are on the response %s (%i)', async (_what, status, request) => {
    const response = await request();
    expect(response.status).toBe(status);
    for (const name of STATES) expect(response.headers.get(name), name).toBeTruthy();
    await response.body?.cancel();
  });
});
