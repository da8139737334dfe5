import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { expectRejected } from '../../support/rejection.ts';
import { repeated } from '../../support/schema/repeated.ts';

const app = useApp();
const account = useAccount(app);

const POST = (selection: string) => `{ posts(limit: 1) { ${selection} } }`;
const doubling = repeated(
  25,
  (i) =>
    `fragment F${i + 1} on Post { a: author { posts(limit: 1) { ...F${i} } } b: author { posts(limit: 1) { ...F${i} } } }`,
);

describe('a hostile document is rejected', () => {
  it.each([
    [
      'field duplication through fragments',
      `${POST(repeated(100, (i) => `...F${i}`))} ${repeated(100, (i) => `fragment F${i} on Post { id }`)}`,
      'COMPLEXITY_LIMIT',
    ],
    [
      'duplicates in a fragment that nobody spreads',
      `{ __typename } fragment F on Post { ${repeated(900, () => 'id')} }`,
      'COMPLEXITY_LIMIT',
    ],
    ['fragments that double', `${POST('...F25')} fragment F0 on Post { id } ${doubling}`, 'COMPLEXITY_LIMIT'],
    [
      'recursive introspection through a fragment',
      '{ __schema { types { ...T } } } fragment T on __Type { fields { type { fields { type { fields { name } } } } } }',
      'DEPTH_LIMIT',
    ],
  ])('%s', async (_name, query, code) => {
    expectRejected(await app.gql(query, { key: account.key }), { code, status: 400 });
  });

  it('duplicates in an operation beside the one that is named', async () => {
    const query = `query A { __typename } query B ${POST(repeated(900, () => 'id'))}`;
    const result = await app.gql(query, { key: account.key, operationName: 'A' });
    expectRejected(result, { code: 'COMPLEXITY_LIMIT', status: 400 });
  });
});

describe('huge variables', () => {
  const ask = (query: string, variables: Record<string, unknown>) =>
    app.gql(query, { key: account.key, variables });

  it('that do not fit are rejected without being sent back', async () => {
    const result = await ask('query ($n: Int) { posts(limit: $n) { id } }', { n: 'x'.repeat(250_000) });
    expectRejected(result, { code: 'BAD_USER_INPUT', argument: 'n' });
    expect(result.errors?.[0]?.message.length).toBeLessThan(2_000);
  });

  it('are rejected at the first few mistakes', async () => {
    const tags = Array.from({ length: 19_000 }, () => 1);
    const query = 'mutation ($tags: [String!]) { createPost(title: "t", body: "b", tags: $tags) { id } }';
    const result = await ask(query, { tags });
    expect(result.errors?.length).toBeLessThan(100);
    expect(new Set(result.errors?.map(({ extensions }) => extensions.code))).toEqual(
      new Set(['BAD_USER_INPUT']),
    );
  });
});
