import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../../support/app.ts';
import type { GraphQLResponse } from '../../../support/graphql.ts';
import { dataOf, expectRejected } from '../../../support/rejection.ts';
import { repeated } from '../../../support/schema/repeated.ts';

const app = useApp();
const account = useAccount(app);

const nested = (levels: number, field = 'id') =>
  `{ viewer { ${'posts(limit: 1) { author { '.repeat(levels)}${field}${' } }'.repeat(levels)} } }`;
const ask = (query: string, headers: Record<string, string> = {}) =>
  app.gql(query, { key: account.key, headers });

function expectLimit(
  result: GraphQLResponse,
  code: string,
  value: number,
  maximum: number,
  status = 400,
): void {
  expectRejected(result, { code, status });
  expect(result.data).toBeUndefined();
  const [error] = result.errors ?? [];
  expect(error?.extensions).toEqual({ code, value, maximum });
  expect(error?.message).toContain(String(value));
  expect(error?.message).toContain(String(maximum));
}

describe('the depth', () => {
  it('may be 10 and not 11', async () => {
    dataOf(await ask(nested(4)));
    expectLimit(await ask(nested(4, 'posts(limit: 1) { id }')), 'DEPTH_LIMIT', 11, 10);
  });

  it('counts through fragments', async () => {
    const query = `{ viewer { ...A } } fragment A on User { ${nested(4, '...B').slice(11, -3)} } fragment B on User { posts(limit: 1) { id } }`;
    expectLimit(await ask(query), 'DEPTH_LIMIT', 11, 10);
  });
});

describe('the complexity', () => {
  it('may be 5,000 and not more', async () => {
    // 1 + 100 × (1 + 48) and 1 + 98
    const full = 'users(limit: 100) { posts(limit: 48) { id } } posts(limit: 98) { id }';
    dataOf(await ask(`{ ${full} }`));
    expectLimit(await ask(`{ ${full} __typename }`), 'COMPLEXITY_LIMIT', 5_001, 5_000);
  });

  it('is what the variables make it', async () => {
    const query = 'query ($n: Int) { users(limit: $n) { posts(limit: 100) { id } } }';
    const withSize = (n: number) => app.gql(query, { key: account.key, variables: { n } });
    dataOf(await withSize(10));
    expectLimit(await withSize(100), 'COMPLEXITY_LIMIT', 1 + 100 * 101, 5_000);
    dataOf(await withSize(10));
  });
});

describe('aliases, tokens, directives and root fields', () => {
  it('30 aliases are taken and 31 are not', async () => {
    dataOf(await ask(`{ ${repeated(30, (i) => `a${i}: __typename`)} }`));
    expectLimit(await ask(`{ ${repeated(31, (i) => `a${i}: __typename`)} }`), 'COMPLEXITY_LIMIT', 31, 30);
  });

  it('1,000 tokens are taken and 1,001 are not', async () => {
    const withTokens = (count: number) =>
      `{ post(id: [${repeated(count - 12, String)}]) { id } } # a comment`;
    expectRejected(await ask(withTokens(1_000)), { code: 'GRAPHQL_VALIDATION_FAILED' });
    expectLimit(await ask(withTokens(1_001)), 'GRAPHQL_PARSE_FAILED', 1_001, 1_000);
  });

  it('1,000 pairs of fields under one name are taken and 1,001 are not', async () => {
    // 45 of a name make 990 pairs, 5 make 10, 2 make one.
    const pairs = `${repeated(45, () => 'id')} ${repeated(5, () => 'name')}`;
    expect((await ask(`{ viewer { ${pairs} email } }`)).status).toBe(200);
    expectLimit(await ask(`{ viewer { ${pairs} email email } }`), 'COMPLEXITY_LIMIT', 1_001, 1_000);
  });

  it('50 directives and 50 root fields are taken', async () => {
    dataOf(await ask(`{ ${repeated(25, () => '__typename @include(if: true) @skip(if: false)')} }`));
    expectLimit(
      await ask(`{ __typename ${repeated(51, () => '@skip(if: false)')} }`),
      'COMPLEXITY_LIMIT',
      51,
      50,
    );
    const rootFields = (count: number) =>
      `{ ${repeated(30, (i) => `a${i}: __typename`)} ${repeated(count - 30, () => '__typename')} }`;
    dataOf(await ask(rootFields(50)));
    expectLimit(await ask(rootFields(51)), 'COMPLEXITY_LIMIT', 51, 50);
  });
});

describe('limits', () => {
  const TOO_DEEP = nested(5);

  it.each([
    ['application/json', 400],
    ['application/graphql-response+json', 400],
    ['*/*', 400],
    ['text/event-stream', 200],
  ])('have for %s the status %i', async (accept, status) => {
    const result = await ask(TOO_DEEP, { accept });
    expectLimit(result, 'DEPTH_LIMIT', 12, 10, status);
  });

  it('hold for invalid documents too', async () => {
    expectRejected(await ask(`{ nowhere ${TOO_DEEP.slice(1)}`), { code: 'DEPTH_LIMIT', status: 400 });
    expectRejected(await ask(nested(5, 'nowhere(x: 1)')), { code: 'DEPTH_LIMIT', status: 400 });
  });

  it('hold for mutations, of which nothing is executed', async () => {
    const title = 'never written';
    const query = `mutation { createPost(title: "${title}", body: "b") { author ${nested(5).slice(9, -2)} } }`;
    expectRejected(await ask(query), { code: 'DEPTH_LIMIT', status: 400 });
    const { posts } = dataOf(await ask('{ posts(limit: 100) { title } }'));
    expect(posts).not.toContainEqual({ title });
  });

  it('hold for subscriptions, which do not open', async () => {
    const subscribe = (query: string) => ask(query, { accept: 'text/event-stream' });
    const deep = `subscription { postCreated { author ${nested(4).slice(9, -2)} } }`;
    expectLimit(await subscribe(deep), 'DEPTH_LIMIT', 11, 10, 200);
    const dear =
      'subscription { postCreated { author { posts(limit: 100) { comments(limit: 100) { id } } } } }';
    expectRejected(await subscribe(dear), { code: 'COMPLEXITY_LIMIT' });
    const aliased = `subscription { postCreated { ${repeated(31, (i) => `a${i}: id`)} } }`;
    expectLimit(await subscribe(aliased), 'COMPLEXITY_LIMIT', 31, 30, 200);
  });

  it('hold over GET', async () => {
    const response = await app.fetch(`/graphql?query=${encodeURIComponent(TOO_DEEP)}`, {
      headers: { authorization: `Bearer ${account.key}` },
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'DEPTH_LIMIT' } }] });
  });

  it('tell a caller without credentials nothing', async () => {
    expectRejected(await app.gql(TOO_DEEP), { code: 'UNAUTHENTICATED', status: 401 });
    expectRejected(await app.gql(`{ ${repeated(400, (i) => `a${i}: posts { id }`)} }`), {
      code: 'UNAUTHENTICATED',
      status: 401,
    });
  });

  it('judge the operation that runs, not those beside it', async () => {
    const query = `query Deep ${TOO_DEEP} query Shallow { __typename }`;
    expect(dataOf(await app.gql(query, { key: account.key, operationName: 'Shallow' }))).toEqual({
      __typename: 'Query',
    });
    const deep = await app.gql(query, { key: account.key, operationName: 'Deep' });
    expectRejected(deep, { code: 'DEPTH_LIMIT', status: 400 });
  });
});

describe('limits that the settings change', () => {
  const strict = useApp({
    settings: { MAX_DEPTH: '2', MAX_COMPLEXITY: '10', MAX_ALIASES: '0', MAX_TOKENS: '50' },
  });

  it('are those', async () => {
    const { key } = await strict.account();
    const rejection = async (query: string) => (await strict.gql(query, { key })).errors?.[0]?.extensions;
    expect(await rejection('{ viewer { id } }')).toBeUndefined();
    expect(await rejection('{ viewer { posts { id } } }')).toEqual({
      code: 'DEPTH_LIMIT',
      value: 3,
      maximum: 2,
    });
    expect(await rejection('{ posts(limit: 10) { id } }')).toEqual({
      code: 'COMPLEXITY_LIMIT',
      value: 11,
      maximum: 10,
    });
    expect(await rejection('{ a: __typename }')).toEqual({ code: 'COMPLEXITY_LIMIT', value: 1, maximum: 0 });
    expect(await rejection(`{ ${repeated(49, () => '__typename')} }`)).toEqual({
      code: 'GRAPHQL_PARSE_FAILED',
      value: 51,
      maximum: 50,
    });
    const { extensions } = await strict.gql('{ viewer { id } }', { key, headers: { 'x-show-cost': '1' } });
    expect(extensions?.cost).toEqual({ complexity: 2, depth: 2, maximumComplexity: 10, maximumDepth: 2 });
  });
});
