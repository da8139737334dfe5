import { beforeAll, describe, expect, it } from 'vitest';
import { cookieOf, login } from '../support/credentials/session.ts';
import { answerOf, deployment, graphql, service } from './support/attacker.ts';
import { PASSWORD } from './support/deployment.ts';

const { grace, origin } = deployment;
const WRITE = 'mutation { createPost(title: "Forged", body: "By another site.") { id } }';
const JSON_TYPE = { 'content-type': 'application/json' };

let cookie = '';
beforeAll(async () => {
  cookie = cookieOf(await login(service, { email: grace.email, password: PASSWORD }));
});

/** What a browser says of a request that another site has it send (Fetch Metadata; RFC 6454). */
const ELSEWHERE: readonly (readonly [string, Record<string, string>])[] = [
  ['another origin', { origin: 'https://evil.example' }],
  ['a sibling', { origin: 'https://evil.corp.test', 'sec-fetch-site': 'same-site' }],
  ['no origin that it tells', { origin: 'null' }],
  ['the origin without TLS', { origin: origin.replace('https', 'http') }],
  ['another site, without an origin', { 'sec-fetch-site': 'cross-site' }],
  ['a sibling, without an origin', { 'sec-fetch-site': 'same-site' }],
];

describe('what another site has a browser send with its session is 403 (contract section 3)', () => {
  it.each(ELSEWHERE)('a mutation from %s', async (_who, headers) => {
    const { status, codes } = await graphql(WRITE, { cookie, ...headers });
    expect([status, codes]).toEqual([403, ['FORBIDDEN']]);
  });

  it.each(ELSEWHERE)('a login from %s', async (_who, headers) => {
    const response = await login(service, { email: grace.email, password: PASSWORD }, headers);
    expect([response.status, response.headers.getSetCookie()]).toEqual([403, []]);
  });

  it.each(ELSEWHERE)('a logout from %s', async (_who, headers) => {
    expect((await service.fetch('/logout', { method: 'POST', headers: { cookie, ...headers } })).status).toBe(
      403,
    );
    expect((await graphql('{ viewer { id } }', { cookie })).data.viewer.id).toBe(grace.id);
  });
});

describe('a mutation is not had', () => {
  it.each([
    ['by GET', () => service.fetch(`/graphql?query=${encodeURIComponent(WRITE)}`, { headers: { cookie } })],
    [
      'as a form',
      () =>
        service.fetch('/graphql', {
          method: 'POST',
          headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
          body: `query=${encodeURIComponent(WRITE)}`,
        }),
    ],
    [
      'as text, which needs no preflight',
      () =>
        service.fetch('/graphql', {
          method: 'POST',
          headers: { cookie, 'content-type': 'text/plain', origin: 'https://evil.example' },
          body: JSON.stringify({ query: WRITE }),
        }),
    ],
    [
      'as one of several',
      () =>
        service.fetch('/graphql', {
          method: 'POST',
          headers: { cookie, ...JSON_TYPE },
          body: JSON.stringify([{ query: WRITE }]),
        }),
    ],
  ])('%s (contract section 2)', async (_how, ask) => {
    const response = await ask();
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect((await answerOf(response)).data?.createPost).toBeUndefined();
  });
});

describe('CORS (contract section 2)', () => {
  const corsOf = (headers: Headers) =>
    [...headers.keys()].filter((name) => name.startsWith('access-control-'));

  it('says nothing to an origin that CORS_ORIGINS does not name, nor to one that looks like it', async () => {
    for (const from of [
      'https://evil.example',
      'null',
      'https://app.example.com.evil.example',
      'http://app.example.com',
    ]) {
      const preflight = await service.fetch('/graphql', {
        method: 'OPTIONS',
        headers: { origin: from, 'access-control-request-method': 'POST' },
      });
      const { headers } = await graphql('{ __typename }', { cookie, origin: from });
      expect([...corsOf(preflight.headers), ...corsOf(headers)], from).toEqual([]);
    }
    const { headers } = await graphql('{ __typename }', { cookie, origin: 'https://app.example.com' });
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example.com');
  });
});

describe('what a browser gets', () => {
  it('has a session cookie that no script and no other site reaches (RFC 6265bis section 5.6)', async () => {
    const response = await login(service, { email: grace.email, password: PASSWORD });
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^session_id=[\w-]{43}; HttpOnly; Secure; SameSite=Strict; Path=\/$/),
    ]);
  });

  it('says to come over TLS alone, is kept by no cache, and is what it says to be (RFC 6797, RFC 9111)', async () => {
    const { headers } = await graphql('{ viewer { id } }', { cookie });
    expect(headers.get('strict-transport-security')).toBe('max-age=31536000');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('tells nothing of the schema to who has no business there (contract section 8)', async () => {
    const { status, data } = await graphql('{ __schema { types { name } } }', {});
    expect([status, data?.__schema]).toEqual([401, undefined]);
    expect(
      (await service.fetch('/graphql', { headers: { accept: 'text/html' } })).headers.get('content-type'),
    ).not.toContain('html');
  });
});
