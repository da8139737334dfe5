import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../../src/auth/api-keys.ts';
import { type TestApp, useApp } from '../../../support/app.ts';
import { useSocket } from '../../../support/socket.ts';
import { steppedClock } from '../../../support/time/stepped-clock.ts';

const QUERY = '{ __typename }';
const remainingOf = ({ headers }: { headers: Headers }) => Number(headers.get('x-ratelimit-remaining'));
const times = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('a key with limits of its own', () => {
  const app = useApp({
    settings: { RATE_LIMIT_BURST: '3', RATE_LIMIT_PER_SECOND: '1' },
    clock: steppedClock(),
  });

  async function keyWith(limits: { burst?: number; perSecond?: number }): Promise<string> {
    const { id: userId } = await app.account();
    const { key } = await createApiKey(app.database, {
      userId,
      name: 'own',
      scopes: ['posts:read'],
      ...limits,
    });
    return key;
  }

  it.each([
    [{ burst: 7, perSecond: 2 }, '7', '"default";q=7;w=4', 7],
    [{ burst: 10 }, '10', '"default";q=10;w=10', 10],
    [{ perSecond: 0.5 }, '3', '"default";q=3;w=6', 3],
    [{ burst: 1 }, '1', '"default";q=1;w=1', 1],
  ] as const)('has those: %o', async (limits, limit, policy, allowed) => {
    const key = await keyWith(limits);
    const responses = [];
    for (const _ of times(12)) responses.push(await app.gql(QUERY, { key }));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(allowed);
    expect(responses[0]?.headers.get('x-ratelimit-limit')).toBe(limit);
    expect(responses[0]?.headers.get('ratelimit-policy')).toBe(policy);
  });
});

describe('a client without credentials', () => {
  const settings = {
    RATE_LIMIT_BURST: '5',
    RATE_LIMIT_PER_SECOND: '0.001',
    TRUST_PROXY: '127.0.0.1,10.0.0.0/8',
  };
  const proxied = useApp({ settings });
  const direct = useApp({ settings: { ...settings, TRUST_PROXY: '' } });
  const from = (app: TestApp, forwarded: string) =>
    app.gql(QUERY, { headers: { 'x-forwarded-for': forwarded } });

  it('is its address, as the trusted proxy tells it', async () => {
    for (const left of [4, 3, 2, 1, 0]) expect(remainingOf(await from(proxied, '198.51.100.1'))).toBe(left);
    expect((await from(proxied, '198.51.100.1')).status).toBe(429);
    expect((await from(proxied, '198.51.100.2')).status).toBe(200);
  });

  it('gets no other bucket by what it writes into the header itself', async () => {
    for (const invented of times(5)) await from(proxied, `1.2.3.${invented}, 198.51.100.3, 10.0.0.7`);
    expect((await from(proxied, '9.9.9.9, 198.51.100.3')).status).toBe(429);
  });

  it('is the peer where no proxy is trusted, whatever the header says', async () => {
    for (const invented of times(5)) expect((await from(direct, `198.51.100.${invented}`)).status).toBe(200);
    expect((await from(direct, '203.0.113.1')).status).toBe(429);
  });
});

describe('failed credentials', () => {
  const clock = steppedClock();
  const settings = { AUTH_FAILURE_BURST: '10', AUTH_FAILURE_REFILL_SECONDS: '30', TRUST_PROXY: '127.0.0.1' };
  const app = useApp({ settings, clock });
  const guess = (forwarded: string, headers: Record<string, string> = { authorization: 'Bearer wrong' }) =>
    app.gql('{ posts { id } }', { headers: { 'x-forwarded-for': forwarded, ...headers } });

  it('get one more try every 30 seconds', async () => {
    const address = '198.51.100.3';
    for (const _ of times(11)) await guess(address);
    clock.advance(29_999);
    expect((await guess(address)).status).toBe(429);
    clock.advance(1);
    expect((await guess(address)).status).toBe(401);
    expect((await guess(address)).status).toBe(429);
  });

  it('count alike, whatever kind they are of', async () => {
    const address = '198.51.100.4';
    const kinds: Record<string, string>[] = [
      { authorization: 'Basic YTpi' },
      { authorization: 'Bearer cga_000000000000000000000000000000000000' },
      { authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.' },
      { cookie: 'session_id=nothing' },
      { authorization: 'Bearer' },
    ];
    for (const _ of times(2)) for (const kind of kinds) expect((await guess(address, kind)).status).toBe(401);
    expect((await guess(address)).status).toBe(429);
  });

  it('count wherever they are tried', async () => {
    const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': '198.51.100.6' };
    const paths = ['/logout', '/nowhere'];
    for (const i of times(10))
      expect((await app.fetch(paths[i % 2] ?? '', { method: 'POST', headers })).status).not.toBe(429);
    for (const path of paths) expect((await app.fetch(path, { method: 'POST', headers })).status).toBe(429);
    expect((await guess('198.51.100.6')).status).toBe(429);
  });

  it('are not counted where there are none', async () => {
    const address = '198.51.100.5';
    for (const _ of times(15)) expect((await guess(address, {})).status).toBe(401);
    expect((await guess(address)).status).toBe(401);
  });
});

describe('over a socket', () => {
  const app = useApp({ settings: { RATE_LIMIT_BURST: '2', RATE_LIMIT_PER_SECOND: '0.001' } });
  const socket = useSocket(app);

  it('both ways in take from one bucket', async () => {
    const { key } = await app.account();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ query: QUERY });
    const post = (path: string) => socket.fetch(path, { method: 'POST', headers, body });
    expect(remainingOf(await post('/graphql'))).toBe(1);
    expect(remainingOf(await post('/graphql?x'))).toBe(0);
    expect((await post('/graphql')).status).toBe(429);
    expect((await socket.fetch(`/graphql?query=${encodeURIComponent(QUERY)}`, { headers })).status).toBe(429);
  });
});
