import { beforeAll, describe, expect, it } from 'vitest';
import { API_KEY } from '../../../src/auth/api-keys.ts';
import { useApp } from '../../support/app.ts';
import { graphqlPost } from '../../support/graphql.ts';

const QUERY = '{ viewer { id } }';

/** The response to no or bad credentials (contract: credentials). */
async function expectUnauthenticated(response: Response) {
  const { data, errors } = (await response.json()) as { data?: unknown; errors: unknown[] };
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toMatch(/^Bearer\b/);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(data ?? null).toBeNull();
  expect(errors).toEqual([
    expect.objectContaining({
      message: expect.any(String),
      extensions: expect.objectContaining({ code: 'UNAUTHENTICATED' }),
    }),
  ]);
}

describe('API keys', () => {
  const app = useApp();
  let account = { id: '', key: '' };
  beforeAll(async () => {
    account = await app.account();
  });

  const ask = (headers: Record<string, string>, parameter?: string) =>
    app.fetch(
      `/graphql${parameter === undefined ? '' : `?api_key=${encodeURIComponent(parameter)}`}`,
      graphqlPost(QUERY, { headers }),
    );
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  async function expectViewer(response: Response) {
    expect(await response.json()).toEqual({ data: { viewer: { id: account.id } } });
    expect(response.status).toBe(200);
    expect(response.headers.has('www-authenticate')).toBe(false);
  }
  /** A key of the account with another last character, which its checksum does not fit. */
  const mistyped = () => account.key.slice(0, -1) + (account.key.endsWith('a') ? 'b' : 'a');

  it('are taken in the Authorization header', async () => {
    await expectViewer(await ask(bearer(account.key)));
    // RFC 9110 section 11.1: the scheme is case-insensitive.
    await expectViewer(await ask({ authorization: `bearer ${account.key}` }));
  });

  it('are taken as the query parameter api_key, over POST and over GET', async () => {
    await expectViewer(await ask({}, account.key));
    const search = new URLSearchParams({ query: QUERY, api_key: account.key });
    await expectViewer(await app.fetch(`/graphql?${search}`));
  });

  it('in the header count before the query parameter', async () => {
    const other = await app.account();
    await expectViewer(await ask(bearer(account.key), other.key));
    await expectViewer(await ask(bearer(account.key), 'nonsense'));
  });

  it('that are bad in the header are not rescued by a good query parameter', async () => {
    await expectUnauthenticated(await ask(bearer('nonsense'), account.key));
    await expectUnauthenticated(await ask(bearer(mistyped()), account.key));
    await expectUnauthenticated(await ask({ authorization: 'Basic YTpi' }, account.key));
    await expectUnauthenticated(await ask({ authorization: '' }, account.key));
  });

  it.each([
    ['none', {}, undefined],
    ['an empty header', { authorization: '' }, undefined],
    ['a header without a scheme', { authorization: API_KEY.generate() }, undefined],
    ['another scheme', { authorization: 'Basic YTpi' }, undefined],
    ['a scheme without a token', { authorization: 'Bearer' }, undefined],
    ['two tokens', { authorization: 'Bearer a b' }, undefined],
    ['a token of no known kind', { authorization: 'Bearer nonsense' }, undefined],
    ['a well-formed key that nobody has', { authorization: `Bearer ${API_KEY.generate()}` }, undefined],
    ['an empty parameter', {}, ''],
    ['a parameter of no known kind', {}, 'nonsense'],
    ['a parameter with a key that nobody has', {}, API_KEY.generate()],
  ])('reject credentials that are %s with 401', async (_what, headers, parameter) => {
    await expectUnauthenticated(await ask(headers as Record<string, string>, parameter));
  });

  it('say error="invalid_token" only where a token was sent (RFC 6750 section 3.1)', async () => {
    expect((await ask({})).headers.get('www-authenticate')).not.toContain('error=');
    expect((await ask(bearer('nonsense'))).headers.get('www-authenticate')).toMatch(
      /^Bearer error="invalid_token"/,
    );
  });

  it('have their last use recorded', async () => {
    const { id, key } = await app.account();
    const lastUse = async () =>
      (await app.prisma.apiKey.findFirst({ where: { userId: id } }))?.lastUsedAt ?? undefined;
    expect(await lastUse()).toBeUndefined();
    await ask(bearer(key));
    await expect.poll(lastUse).toBeInstanceOf(Date);
  });
});

describe('a request without good credentials', () => {
  const app = useApp();
  const json = { 'content-type': 'application/json' };

  it.each([
    ['broken JSON', { method: 'POST', headers: json, body: '{' }],
    ['no body', { method: 'POST', headers: json }],
    ['a batch', { method: 'POST', headers: json, body: '[]' }],
    ['no content type', { method: 'POST', body: 'x' }],
    ['a wrong content type', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' }],
    ['no query', { method: 'POST', headers: json, body: '{}' }],
    ['a syntax error', { method: 'POST', headers: json, body: '{"query":"{"}' }],
    ['an unknown field', { method: 'POST', headers: json, body: '{"query":"{ nothing }"}' }],
    [
      'an unknown operation',
      { method: 'POST', headers: json, body: '{"query":"query A { a }","operationName":"B"}' },
    ],
    [
      'a subscription without Accept',
      { method: 'POST', headers: json, body: '{"query":"subscription { postCreated { id } }"}' },
    ],
    ['a query over GET without one', { method: 'GET' }],
  ])('is 401 whatever else is wrong: %s', async (_what, init) => {
    await expectUnauthenticated(await app.fetch('/graphql', init));
    const headers = {
      ...(init as RequestInit & { headers?: object }).headers,
      authorization: 'Bearer wrong',
    };
    await expectUnauthenticated(await app.fetch('/graphql', { ...init, headers }));
  });

  it('over GET with a mutation is 401, not 405', async () => {
    const search = new URLSearchParams({ query: 'mutation { deletePost(id: "x") }' });
    await expectUnauthenticated(await app.fetch(`/graphql?${search}`));
  });

  it('runs nothing', async () => {
    const { key } = await app.account();
    const result = await app.gql('mutation { createPost(title: "never", body: "b") { id } }');
    expect(result.status).toBe(401);
    const { data } = await app.gql('{ posts { title } }', { key });
    expect(data.posts).not.toContainEqual({ title: 'never' });
  });

  it('is rejected as 401 in the media type that it accepts', async () => {
    const headers = { accept: 'application/graphql-response+json' };
    const response = await app.fetch('/graphql', graphqlPost(QUERY, { headers }));
    expect(response.headers.get('content-type')).toBe('application/graphql-response+json; charset=utf-8');
    await expectUnauthenticated(response);
  });
});
