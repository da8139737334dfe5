import { beforeAll, describe, expect, it } from 'vitest';
import { API_KEY } from '../../../src/auth/api-keys.ts';
import { sessionRevocation } from '../../../src/auth/sessions.ts';
import { MAX_LIVE_TOKENS, STREAM_TOKEN } from '../../../src/auth/stream-tokens.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { askToken, oauthClient } from '../../support/credentials/oauth.ts';
import { freshCookie, type Visitor, visitor } from '../../support/credentials/session.ts';
import { graphqlPost } from '../../support/graphql.ts';
import {
  issueToken,
  openByToken,
  requestByToken,
  requestToken,
  TITLES,
} from '../../support/streams/stream-token.ts';

const app = useApp({ settings: { CORS_ORIGINS: 'https://app.example', ANONYMOUS_READ: 'true' } });
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const codesOf = async (response: Response) =>
  ((await response.json()) as { errors: { extensions: { code: string } }[] }).errors.map(
    ({ extensions }) => extensions.code,
  );
const tokensOf = (userId: string) => app.prisma.streamToken.count({ where: { userId } });

let owner: Visitor;
let token = '';
beforeAll(async () => {
  owner = await visitor(app);
  token = await issueToken(app, bearer(owner.key));
});

describe('no stream token is issued', () => {
  const VARIABLE = 'subscription ($id: Boolean!) { postCreated { id @include(if: $id) } }';
  const DEEP = `subscription { postCreated ${'{ author { posts '.repeat(6)}{ id }${' } }'.repeat(6)} }`;
  it.each<[string, Record<string, unknown>, number, string]>([
    ['a query', { query: '{ posts { id } }' }, 400, 'BAD_REQUEST'],
    ['a mutation', { query: 'mutation { deletePost(id: "x") }' }, 400, 'BAD_REQUEST'],
    ['no query', {}, 400, 'BAD_REQUEST'],
    ['what does not parse', { query: 'subscription {' }, 400, 'GRAPHQL_PARSE_FAILED'],
    ['what is not valid', { query: 'subscription { nothing }' }, 400, 'GRAPHQL_VALIDATION_FAILED'],
    ['another operation name', { query: TITLES, operationName: 'No' }, 400, 'GRAPHQL_VALIDATION_FAILED'],
    ['a missing variable', { query: VARIABLE }, 400, 'BAD_USER_INPUT'],
    ['a wrong variable', { query: VARIABLE, variables: { id: 'x' } }, 400, 'BAD_USER_INPUT'],
    ['too deep a selection', { query: DEEP }, 400, 'DEPTH_LIMIT'],
  ])('for %s', async (_what, operation, status, code) => {
    const { id, key } = await app.account();
    const response = await requestToken(app, bearer(key), operation);
    expect([response.status, await codesOf(response)]).toEqual([status, [code]]);
    expect(await tokensOf(id)).toBe(0);
  });

  it('for a subscription that the scopes of the caller do not allow', async () => {
    const { key } = await app.account({ scopes: ['users:read'] });
    const response = await requestToken(app, bearer(key));
    expect([response.status, await codesOf(response)]).toEqual([403, ['FORBIDDEN']]);
    expect(response.headers.get('www-authenticate')).toContain('insufficient_scope');
  });

  it.each<[string, Record<string, string>]>([
    ['nobody, even where strangers may read', {}],
    ['an unknown key', bearer(API_KEY.generate())],
    ['an unknown session', { cookie: `session_id=${'x'.repeat(43)}` }],
  ])('to %s', async (_who, headers) => {
    const response = await requestToken(app, headers);
    expect([response.status, await codesOf(response)]).toEqual([401, ['UNAUTHENTICATED']]);
  });

  it.each<[string, Record<string, string>, number]>([
    ['a page of another site', { origin: 'https://evil.example' }, 403],
    ['another site without an origin', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a page of CORS_ORIGINS', { origin: 'https://app.example' }, 200],
    ['a page of its own', { 'sec-fetch-site': 'same-origin' }, 200],
    ['no browser', {}, 200],
  ])('to a cookie that comes from %s, unless it is allowed', async (_from, headers, status) => {
    const response = await requestToken(app, { cookie: owner.cookie, ...headers });
    expect(response.status).toBe(status);
  });

  it.each([
    ['GET', 405],
    ['PUT', 405],
    ['DELETE', 405],
  ])('by %s', async (method, status) => {
    const response = await app.fetch('/graphql/stream-token', { method, headers: bearer(owner.key) });
    expect([response.status, response.headers.get('allow')]).toEqual([status, 'POST']);
    // Who a stranger is comes first.
    expect((await app.fetch('/graphql/stream-token', { method })).status).toBe(401);
  });

  it('to a body that is no JSON object', async () => {
    for (const [type, body, status] of [
      ['text/plain', JSON.stringify({ query: TITLES }), 415],
      ['application/json', '{', 400],
      ['application/json', '[]', 400],
      ['application/json', ' '.repeat(1_100_000), 413],
    ] as const) {
      const response = await app.fetch('/graphql/stream-token', {
        method: 'POST',
        headers: { ...bearer(owner.key), 'content-type': type },
        body,
      });
      expect(response.status).toBe(status);
    }
  });

  it('for a subscription that is too large to be stored', async () => {
    const variables = { unused: 'x'.repeat(20_000) };
    const response = await requestToken(app, bearer(owner.key), { query: TITLES, variables });
    expect([response.status, await codesOf(response)]).toEqual([413, ['BAD_REQUEST']]);
  });

  it('by a stream token', async () => {
    const response = await app.fetch(`/graphql/stream-token?stream_token=${token}`, graphqlPost(TITLES));
    expect(response.status).toBe(401);
    expect((await requestToken(app, bearer(token))).status).toBe(401);
  });

  it(`past ${MAX_LIVE_TOKENS} of an account, also when many are asked for at once`, async () => {
    const full = await app.account();
    const ask = async () => (await requestToken(app, bearer(full.key))).status;
    const issued: number[] = [];
    for (let i = 0; i < 9; i += 1) issued.push(...(await Promise.all(Array.from({ length: 12 }, ask))));
    expect(issued.filter((status) => status === 200)).toHaveLength(MAX_LIVE_TOKENS);
    expect(issued.filter((status) => status === 429)).toHaveLength(8);
    const rejected = await requestToken(app, bearer(full.key));
    expect([rejected.status, await codesOf(rejected)]).toEqual([429, ['RATE_LIMITED']]);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });

  it(`past ${MAX_LIVE_TOKENS} that are still good: not those that have expired, or whose session has ended`, async () => {
    const { id, email, cookie } = await visitor(app);
    const before = await issueToken(app, { cookie });
    const fill = await app.prisma.streamToken.findFirstOrThrow({ where: { userId: id } });
    const { id: _id, hash: _hash, ...row } = fill;
    await app.prisma.streamToken.createMany({
      data: Array.from({ length: MAX_LIVE_TOKENS - 1 }, () => ({
        ...row,
        hash: new TextEncoder().encode(STREAM_TOKEN.generate()),
      })),
    });
    expect((await requestToken(app, { cookie })).status).toBe(429);
    await app.prisma.streamToken.update({
      where: { id: fill.id },
      data: { expiresAt: new Date(Date.now() - 3_600_000) },
    });
    expect((await requestByToken(app, before)).status).toBe(401);
    expect((await requestToken(app, { cookie })).status).toBe(200);
    expect((await requestToken(app, { cookie })).status).toBe(429);
    await app.database.query(sessionRevocation.all, [[id]]);
    expect((await requestToken(app, { cookie: await freshCookie(app, email) })).status).toBe(200);
    // Nor are the others kept: an account has 100 rows at most.
    expect(await tokensOf(id)).toBe(1);
  });

  it('past those of an OAuth client that is gone', async () => {
    const { id, key } = await app.account();
    const client = await oauthClient(app, { owner: { id }, grants: ['client_credentials'] });
    const { body } = await askToken(app, client, { grant_type: 'client_credentials' });
    await issueToken(app, bearer(body.access_token));
    await issueToken(app, bearer(key));
    expect(await tokensOf(id)).toBe(2);
    await app.prisma.oAuthClient.delete({ where: { id: client.id } });
    await issueToken(app, bearer(key));
    expect(await tokensOf(id)).toBe(2);
  });
});

describe('a stream token is rejected with 401', () => {
  const QUERY = encodeURIComponent('{ viewer { id } }');
  const STREAM = { accept: 'text/event-stream' };
  const JSON_POST = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const ADDRESS = '/graphql?stream_token=';
  it.each<[string, () => Promise<Response>]>([
    ['beside a query', () => app.fetch(`${ADDRESS}${token}&query=${QUERY}`)],
    [
      'beside another subscription',
      () => requestByToken(app, token, { search: { query: 'subscription { postCreated { body } }' } }),
    ],
    ['beside its own subscription', () => requestByToken(app, token, { search: { query: TITLES } })],
    ['beside variables', () => requestByToken(app, token, { search: { variables: '{}' } })],
    ['beside an operation name', () => requestByToken(app, token, { search: { operationName: 'x' } })],
    ['beside extensions', () => requestByToken(app, token, { search: { extensions: '{}' } })],
    ['beside an API key', () => requestByToken(app, token, { search: { api_key: owner.key } })],
    ['beside an Authorization header', () => requestByToken(app, token, { headers: bearer(owner.key) })],
    [
      'beside another token',
      () => app.fetch(`${ADDRESS}${token}&stream_token=${token}`, { headers: STREAM }),
    ],
    [
      'by POST',
      () => app.fetch(`${ADDRESS}${token}`, { ...JSON_POST, body: JSON.stringify({ query: TITLES }) }),
    ],
    [
      'by POST for a query',
      () => app.fetch(`${ADDRESS}${token}`, { ...JSON_POST, body: '{"query":"{ viewer { id } }"}' }),
    ],
    ['by HEAD', () => app.fetch(`${ADDRESS}${token}`, { method: 'HEAD', headers: STREAM })],
    ['as a bearer token', () => app.fetch(`/graphql?query=${QUERY}`, { headers: bearer(token) })],
    ['as an API key', () => app.fetch(`/graphql?query=${QUERY}&api_key=${token}`)],
    [
      'as a session',
      () => app.fetch(`/graphql?query=${QUERY}`, { headers: { cookie: `session_id=${token}` } }),
    ],
    [
      'with a character changed',
      () => requestByToken(app, `${token.slice(0, -1)}${token.endsWith('0') ? 1 : 0}`),
    ],
    ['cut short', () => requestByToken(app, token.slice(0, -1))],
    ['that is empty', () => requestByToken(app, '')],
    ['that nobody issued', () => requestByToken(app, STREAM_TOKEN.generate())],
    ['that is an API key', () => requestByToken(app, owner.key)],
    ['that is a session id', () => requestByToken(app, owner.cookie.split('=')[1] ?? '')],
  ])('%s', async (_how, send) => {
    const response = await send();
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain('Bearer');
    await response.text();
  });

  it('but opens its subscription all the same afterwards', async () => {
    const { stream } = await openByToken(app, token);
    const id = await createPost(app, owner.key);
    expect((await stream.next()).data.postCreated.id).toBe(id);
  });
});
