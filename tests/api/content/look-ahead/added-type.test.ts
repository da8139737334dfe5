import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../../src/app/create-app.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createLogger } from '../../../../src/platform/log/log.ts';
import { defineTypes, schemaOf } from '../../../../src/schema/schema.ts';
import { ORIGIN, useApp } from '../../../support/app.ts';
import { seedPosts } from '../../../support/content.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { defineMarks, MARKS_TABLE } from '../../../support/schema/marks.ts';

const { toolkit, post } = defineTypes();
defineMarks(toolkit, post);
const schema = schemaOf(toolkit.builder);

const FIELDS = 'emoji createdAt updatedAt removedAt';
const EXPECTED = [
  {
    emoji: '👍',
    createdAt: '2020-01-01T00:00:00.001Z',
    updatedAt: '2021-02-03T04:05:06.789Z',
    removedAt: null,
  },
  {
    emoji: '🎉',
    createdAt: '2020-01-01T00:00:00.002Z',
    updatedAt: '1999-12-31T23:59:59.999Z',
    removedAt: '2022-01-01T00:00:00.000Z',
  },
];

describe('A type with several dates that was added with one declaration of its columns and its lists', () => {
  const app = useApp({ schema });
  let key = '';
  let id = '';
  beforeAll(async () => {
    const client = await app.database.dedicatedClient();
    await client.query(MARKS_TABLE);
    const account = await app.account();
    key = account.key;
    [id = ''] = await seedPosts(app, [{ authorId: account.id }]);
    for (const { emoji, createdAt, updatedAt, removedAt } of EXPECTED)
      await client.query(
        'INSERT INTO marks (id, post_id, emoji, created_at, updated_at, removed_at) VALUES ($1, $2, $3, $4, $5, $6)',
        [newId(), id, emoji, createdAt, updatedAt, removedAt],
      );
    await client.end();
  });

  /** The responses of the service as it ships, and of one whose loaders read everything. */
  async function ask(query: string) {
    const { config, database } = app;
    const log = createLogger({ level: 'error', pretty: false });
    const loading = createApp({ config, database, log, schema, lookAhead: false });
    const init = graphqlPost(query, { key, variables: { id } });
    try {
      const responses = [
        await app.fetch('/graphql', init),
        await loading.fetch(new Request(`${ORIGIN}/graphql`, init)),
      ];
      return await Promise.all(responses.map((response) => response.json()));
    } finally {
      await loading.close();
    }
  }

  it.each([
    ['a list', `marks { ${FIELDS} }`, { marks: EXPECTED }],
    ['a connection', `marksConnection { nodes { ${FIELDS} } }`, { marksConnection: { nodes: EXPECTED } }],
    [
      'a list beside a connection',
      `marks(limit: 1) { ${FIELDS} } marksConnection(first: 1) { edges { node { ${FIELDS} } } pageInfo { hasNextPage } }`,
      {
        marks: [EXPECTED[0]],
        marksConnection: { edges: [{ node: EXPECTED[0] }], pageInfo: { hasNextPage: true } },
      },
    ],
  ])('has them right in %s', async (_what, selection, post) => {
    const responses = await ask(`query ($id: ID!) { post(id: $id) { ${selection} } }`);
    expect(responses).toEqual([{ data: { post } }, { data: { post } }]);
  });

  it('goes on after a cursor', async () => {
    const connection = async (after: string) => {
      const query = `query ($id: ID!) { post(id: $id) { marksConnection(first: 1${after}) { nodes { emoji } pageInfo { endCursor } } } }`;
      const [shipped, loaded] = await ask(query);
      expect(shipped).toEqual(loaded);
      return shipped.data.post.marksConnection;
    };
    const first = await connection('');
    const second = await connection(`, after: "${first.pageInfo.endCursor}"`);
    expect([first, second].map(({ nodes: [node] }) => node.emoji)).toEqual(['👍', '🎉']);
  });

  it('is found by its id alone, beside the others', async () => {
    const client = await app.database.dedicatedClient();
    const { rows } = await client.query<{ id: string }>('SELECT id FROM marks ORDER BY created_at');
    await client.end();
    const query = (ids: readonly string[]) =>
      `query ($id: ID!) { post(id: $id) { id } nodes(ids: ${JSON.stringify(ids)}) { __typename ... on Mark { ${FIELDS} } } }`;
    const responses = await ask(query([rows[1]?.id ?? '', id, rows[0]?.id ?? '']));
    const [first, second] = EXPECTED.map((mark) => ({ __typename: 'Mark', ...mark }));
    const data = { post: { id }, nodes: [second, { __typename: 'Post' }, first] };
    expect(responses).toEqual([{ data }, { data }]);
  });

  it('tells of the scope that its fields need', async () => {
    const { data } = await app.gql('{ __type(name: "Post") { fields { name description } } }', { key });
    const described = Object.fromEntries(
      data.__type.fields.map(({ name, description }: Record<string, string>) => [name, description]),
    );
    expect(described.marks).toBe('The marks on the post, oldest first. Needs the scope `posts:read`.');
  });
});
