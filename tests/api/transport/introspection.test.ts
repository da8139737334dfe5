import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { dataOf, expectRefused } from '../../support/refusal.ts';

const LOOKS = [
  '{ __typename }',
  '{ __schema { queryType { name } } }',
  '{ __type(name: "Post") { name } }',
  '{ a: __typename ... on Query { __schema { description } } ...F } fragment F on Query { __typename }',
];
const MIXED = '{ __typename viewer { id } }';
const HIDDEN = 'query { __typename ...F } fragment F on Query { ... on Query { posts { id } } }';

describe('introspection, switched on', () => {
  const app = useApp();

  it.each(LOOKS)('needs no credentials: %s', async (query) => {
    expect(dataOf(await app.gql(query))).toBeTruthy();
  });

  it('tells of no built-in scalar that nothing refers to', async () => {
    const { __schema } = dataOf(await app.gql('{ __schema { types { name } } }'));
    const names = __schema.types.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['Boolean', 'ID', 'Int', 'String']));
    expect(names).not.toContain('Float');
  });

  it('answers the whole query of GraphiQL and of code generators', async () => {
    const answer = await app.gql(getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true }));
    expect(dataOf(answer).__schema.queryType).toMatchObject({ name: 'Query' });
  });

  it.each([MIXED, HIDDEN])('needs credentials as soon as something else is asked for: %s', async (query) => {
    expectRefused(await app.gql(query), { code: 'UNAUTHENTICATED', status: 401 });
  });

  it('is refused with bad credentials, which count', async () => {
    expectRefused(await app.gql('{ __typename }', { key: 'wrong' }), {
      code: 'UNAUTHENTICATED',
      status: 401,
    });
  });

  it('may nest lists twice, and not three times', async () => {
    const nested = (levels: number) =>
      `{ __schema { queryType ${'{ fields { type '.repeat(levels)}{ name }${' } }'.repeat(levels)} } }`;
    expect(dataOf(await app.gql(nested(2)))).toBeTruthy();
    const { key } = await app.account();
    expectRefused(await app.gql(nested(3), { key }), { code: 'DEPTH_LIMIT', status: 400 });
  });

  it('judges the operation that is named, not the others beside it', async () => {
    const query = 'query Look { __typename } query Read { viewer { id } }';
    expect(dataOf(await app.gql(query, { operationName: 'Look' }))).toEqual({ __typename: 'Query' });
    const read = await app.gql(query, { operationName: 'Read' });
    expectRefused(read, { code: 'UNAUTHENTICATED', status: 401 });
  });
});

describe('introspection, switched off', () => {
  const app = useApp({ settings: { INTROSPECTION: 'false' } });

  it.each(LOOKS.slice(1))('is refused with credentials too: %s', async (query) => {
    const { key } = await app.account();
    const { data, errors = [] } = await app.gql(query, { key });
    expect(data).toBeUndefined();
    expect(errors.length).toBeGreaterThan(0);
    for (const { extensions } of errors) expect(extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
  });

  it.each(LOOKS)('needs credentials: %s', async (query) => {
    expectRefused(await app.gql(query), { code: 'UNAUTHENTICATED', status: 401 });
  });

  it('leaves __typename in place', async () => {
    const { key } = await app.account();
    expect(dataOf(await app.gql('{ __typename viewer { __typename } }', { key }))).toEqual({
      __typename: 'Query',
      viewer: { __typename: 'User' },
    });
  });
});
