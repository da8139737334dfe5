import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';

const LOOKS = [
  '{ __typename }',
  '{ __schema { queryType { name } } }',
  '{ __type(name: "Post") { name } }',
  '{ a: __typename ... on Query { __schema { description } } ...F } fragment F on Query { __typename }',
];
const MIXED = '{ __typename viewer { id } }';
const HIDDEN = 'query { __typename ...F } fragment F on Query { ... on Query { posts { id } } }';

/** GraphQL, September 2025, section 4.2.6. */
const LOCATIONS = [
  ...['QUERY', 'MUTATION', 'SUBSCRIPTION', 'FIELD', 'FRAGMENT_DEFINITION', 'FRAGMENT_SPREAD'],
  ...['INLINE_FRAGMENT', 'VARIABLE_DEFINITION', 'SCHEMA', 'SCALAR', 'OBJECT', 'FIELD_DEFINITION'],
  ...'ARGUMENT_DEFINITION INTERFACE UNION ENUM ENUM_VALUE INPUT_OBJECT INPUT_FIELD_DEFINITION'.split(' '),
];
/** The fields of introspection with their arguments (GraphQL, September 2025, section 4.2). */
const META_FIELDS = {
  __Schema: ['description', 'types', 'queryType', 'mutationType', 'subscriptionType', 'directives'],
  __Directive: ['name', 'description', 'isRepeatable', 'locations', 'args includeDeprecated'],
  __Type: [
    ...['kind', 'name', 'description', 'specifiedByURL', 'fields includeDeprecated', 'interfaces'],
    ...[
      'possibleTypes',
      'enumValues includeDeprecated',
      'inputFields includeDeprecated',
      'ofType',
      'isOneOf',
    ],
  ],
  __Field: ['name', 'description', 'args includeDeprecated', 'type', 'isDeprecated', 'deprecationReason'],
  __InputValue: ['name', 'description', 'type', 'defaultValue', 'isDeprecated', 'deprecationReason'],
  __EnumValue: ['name', 'description', 'isDeprecated', 'deprecationReason'],
};

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

  it('has the locations of the current specification, and none that graphql-js tries out', async () => {
    const { __schema, __type } = dataOf(
      await app.gql(
        '{ __schema { directives { name locations } } __type(name: "__DirectiveLocation") { enumValues { name } } }',
      ),
    );
    const locations = Object.fromEntries(
      __schema.directives.map(({ name, locations: places }: { name: string; locations: string[] }) => [
        name,
        places.sort(),
      ]),
    );
    expect(locations).toEqual({
      skip: ['FIELD', 'FRAGMENT_SPREAD', 'INLINE_FRAGMENT'],
      include: ['FIELD', 'FRAGMENT_SPREAD', 'INLINE_FRAGMENT'],
      deprecated: ['ARGUMENT_DEFINITION', 'ENUM_VALUE', 'FIELD_DEFINITION', 'INPUT_FIELD_DEFINITION'],
      specifiedBy: ['SCALAR'],
      oneOf: ['INPUT_OBJECT'],
    });
    expect(__type.enumValues.map(({ name }: { name: string }) => name)).toEqual(LOCATIONS);
  });

  it('describes itself as the current specification does', async () => {
    const { __schema } = dataOf(
      await app.gql('{ __schema { types { name fields { name args { name } } } } }'),
    );
    const named = __schema.types.filter(({ name }: { name: string }) => name in META_FIELDS);
    const fields = named.map(
      (type: { name: string; fields: { name: string; args: { name: string }[] }[] }) => [
        type.name,
        type.fields.map(({ name, args }) => [name, ...args.map((arg) => arg.name)].join(' ')),
      ],
    );
    expect(Object.fromEntries(fields)).toEqual(META_FIELDS);
  });

  it.each([
    {},
    { descriptions: false },
    { specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true },
    { inputValueDeprecation: true, oneOf: true },
  ])('answers the whole query of GraphiQL and of code generators: %o', async (options) => {
    const { __schema } = dataOf(await app.gql(getIntrospectionQuery(options)));
    expect(__schema.queryType).toMatchObject({ name: 'Query' });
    expect(__schema.types.length).toBeGreaterThan(10);
  });

  it.each([MIXED, HIDDEN])('needs credentials as soon as something else is asked for: %s', async (query) => {
    expectRejected(await app.gql(query), { code: 'UNAUTHENTICATED', status: 401 });
  });

  it('is rejected with bad credentials, which count', async () => {
    expectRejected(await app.gql('{ __typename }', { key: 'wrong' }), {
      code: 'UNAUTHENTICATED',
      status: 401,
    });
  });

  it('may nest lists twice, and not three times', async () => {
    const nested = (levels: number) =>
      `{ __schema { queryType ${'{ fields { type '.repeat(levels)}{ name }${' } }'.repeat(levels)} } }`;
    expect(dataOf(await app.gql(nested(2)))).toBeTruthy();
    const { key } = await app.account();
    expectRejected(await app.gql(nested(3), { key }), { code: 'DEPTH_LIMIT', status: 400 });
  });

  it('judges the operation that is named, not the others beside it', async () => {
    const query = 'query Look { __typename } query Read { viewer { id } }';
    expect(dataOf(await app.gql(query, { operationName: 'Look' }))).toEqual({ __typename: 'Query' });
    const read = await app.gql(query, { operationName: 'Read' });
    expectRejected(read, { code: 'UNAUTHENTICATED', status: 401 });
  });
});

describe('introspection, switched off', () => {
  const app = useApp({ settings: { INTROSPECTION: 'false' } });

  it.each(LOOKS.slice(1))('is rejected with credentials too: %s', async (query) => {
    const { key } = await app.account();
    const { data, errors = [] } = await app.gql(query, { key });
    expect(data).toBeUndefined();
    expect(errors.length).toBeGreaterThan(0);
    for (const { extensions } of errors) expect(extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
  });

  it.each(LOOKS)('needs credentials: %s', async (query) => {
    expectRejected(await app.gql(query), { code: 'UNAUTHENTICATED', status: 401 });
  });

  it('leaves __typename in place', async () => {
    const { key } = await app.account();
    expect(dataOf(await app.gql('{ __typename viewer { __typename } }', { key }))).toEqual({
      __typename: 'Query',
      viewer: { __typename: 'User' },
    });
  });
});
