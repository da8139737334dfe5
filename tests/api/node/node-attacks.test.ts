import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { isUuid } from '../../../src/platform/ids.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { past, seedPosts } from '../../support/content.ts';
import { visitor } from '../../support/credentials/session.ts';
import { graphqlPost, readResponse } from '../../support/graphql.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { type SeededNodes, seedNodes } from './seeded-nodes.ts';

const NODES = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }';

const HOSTILE = [
  '',
  ' ',
  'null',
  'undefined',
  '__proto__',
  '0',
  "' OR '1'='1",
  "'; DROP TABLE users; --",
  '{}',
  '{a,b}',
  '"',
  '\\',
  '\0',
  '\ud800',
  'NULL',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'x'.repeat(100_000),
];

describe('Hostile ids of nodes', () => {
  const app = useApp();
  const reader = useAccount(app);
  let seeded: SeededNodes;
  beforeAll(async () => {
    seeded = await seedNodes(app, 2);
  });
  const nodes = async (ids: readonly unknown[]) =>
    dataOf(await app.gql(NODES, { key: reader.key, variables: { ids } })).nodes;

  it.each(HOSTILE)('name nothing, beside ids that name something: %j', async (id) => {
    const [post] = seeded.posts;
    expect(await nodes([id, post, id])).toEqual([null, { __typename: 'Post', id: post }, null]);
    const one = await app.gql('query ($id: ID!) { node(id: $id) { id } }', {
      key: reader.key,
      variables: { id },
    });
    expect(dataOf(one)).toEqual({ node: null });
  });

  it('name nothing if they are almost an id', async () => {
    const [post = ''] = seeded.posts;
    const almost = [
      `${post} `,
      ` ${post}`,
      `{${post}}`,
      post.replaceAll('-', ''),
      `${post}\n`,
      `urn:uuid:${post}`,
    ];
    expect(await nodes(almost)).toEqual(almost.map(() => null));
    expect(await nodes([post.toUpperCase()])).toEqual([{ __typename: 'Post', id: post }]);
  });

  it('name nothing whatever they are', async () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      // 20 of the longest fit in the largest body.
      fc.constantFrom(...HOSTILE.map((id) => id.slice(0, 10_000))),
      fc.uuid({ version: 4 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(hostile, { maxLength: 20 }), async (ids) => {
        expect(await nodes(ids)).toEqual(ids.map(() => null));
      }),
      { numRuns: 60 },
    );
    expect(isUuid(seeded.posts[0] ?? '')).toBe(true);
  });

  it('name nothing if they are those of keys, sessions, grants, clients, tags, events or requests', async () => {
    const { prisma } = app;
    await visitor(app);
    const tables = await prisma.$queryRaw<{ table_name: string }[]>`
      SELECT c.table_name FROM information_schema.columns c
      WHERE c.table_schema = 'public' AND c.column_name = 'id' AND c.udt_name = 'uuid'
        AND c.table_name NOT IN ('users', 'posts', 'comments')`;
    const ids: string[] = [];
    for (const { table_name: name } of tables) {
      const rows = await prisma.$queryRawUnsafe<{ id: string }[]>(`SELECT id::text FROM "${name}" LIMIT 20`);
      ids.push(...rows.map(({ id }) => id));
    }
    expect(tables.map(({ table_name: name }) => name)).toEqual(
      expect.arrayContaining(['api_keys', 'sessions']),
    );
    expect(ids.length).toBeGreaterThanOrEqual(2);
    expect(await nodes(ids.slice(0, 100))).toEqual(ids.slice(0, 100).map(() => null));
  });

  it.each([
    ['null in the list', 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: [null] }],
    ['no list', 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: null }],
    ['a list of lists', 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: [['a']] }],
    ['an object', 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: { length: 1e9 } }],
    ['nothing at all', '{ nodes { id } }', {}],
    ['a fragment that can never apply', '{ nodes(ids: []) { ... on PageInfo { hasNextPage } } }', {}],
    ['a field of one type without a fragment', '{ nodes(ids: []) { title } }', {}],
    [
      'one name for a text and a list',
      '{ nodes(ids: []) { ... on User { x: name } ... on Post { x: tags } } }',
      {},
    ],
  ])('are rejected before anything runs: %s', async (_what, query, variables) => {
    const response = await app.gql(query, { key: reader.key, variables });
    expect(response.data).toBeUndefined();
    expect(response.errors?.length).toBeGreaterThan(0);
    for (const { extensions } of response.errors ?? [])
      expect(['GRAPHQL_VALIDATION_FAILED', 'BAD_USER_INPUT']).toContain(extensions.code);
  });

  it('cost what their number says, in variables, literals and defaults alike', async () => {
    const [post = ''] = seeded.posts;
    const cost = async (query: string, ids?: unknown) => {
      const headers = { 'x-show-cost': '1' };
      const { extensions } = await app.gql(query, { key: reader.key, variables: { ids }, headers });
      return extensions?.cost;
    };
    const complexity = (figure: number) => expect.objectContaining({ complexity: figure, depth: 2 });
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }';
    expect(await cost(query, [])).toEqual(complexity(1));
    expect(await cost(query, [post])).toEqual(complexity(3));
    expect(await cost(query, post)).toEqual(complexity(3));
    expect(
      await cost(
        query,
        Array.from({ length: 100 }, () => post),
      ),
    ).toEqual(complexity(201));
    expect(await cost(`{ nodes(ids: ["${post}", "a", "b"]) { id } }`)).toEqual(complexity(4));
    expect(await cost(`{ node(id: "${post}") { id } }`)).toEqual(complexity(2));
    const standard = 'query ($ids: [ID!]! = ["a", "b"]) { nodes(ids: $ids) { id } }';
    expect(await cost(standard)).toEqual(complexity(3));
    expect(await cost(standard, ['a', 'b', 'c', 'd'])).toEqual(complexity(5));
  });

  it('cannot multiply a selection beyond the limits, under aliases neither', async () => {
    const ids = Array.from({ length: 100 }, () => seeded.posts[0]);
    const ask = (query: string) => app.gql(query, { key: reader.key, variables: { ids } });
    const wide = await ask(
      'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Post { comments(limit: 50) { id } } } }',
    );
    expectRejected(wide, { code: 'COMPLEXITY_LIMIT', status: 400 });
    const aliases = (count: number) =>
      Array.from({ length: count }, (_, at) => `a${at}: nodes(ids: $ids) { id }`).join(' ');
    const many = dataOf(await ask(`query ($ids: [ID!]!) { ${aliases(24)} }`));
    expect(Object.values(many)).toHaveLength(24);
    expectRejected(await ask(`query ($ids: [ID!]!) { ${aliases(31)} }`), {
      code: 'COMPLEXITY_LIMIT',
      status: 400,
    });
    const deep = `${'... on Post { author { posts(limit: 1) { '.repeat(5)}id${' } } }'.repeat(5)}`;
    expectRejected(await ask(`query ($ids: [ID!]!) { nodes(ids: $ids) { ${deep} } }`), {
      code: 'DEPTH_LIMIT',
      status: 400,
    });
  });

  it('cannot ask for more than a response may hold', async () => {
    const body = '\u0001'.repeat(50_000);
    const [large = ''] = await seedPosts(app, [{ authorId: reader.id, createdAt: past(9_000), body }]);
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Post { body } } }';
    for (const lookAhead of [true, false]) {
      const { fetch } = secondInstance(app, { lookAhead });
      const ask = async (count: number) => {
        const options = { key: reader.key, variables: { ids: new Array(count).fill(large) } };
        return readResponse(await fetch('/graphql', graphqlPost(query, options)));
      };
      expectRejected(await ask(30), { code: 'COMPLEXITY_LIMIT', status: 400 });
      expect(dataOf(await ask(3)).nodes[2].body).toBe(body);
    }
  });
});
