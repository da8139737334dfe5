import { beforeAll, describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { seedComments, seedPosts } from '../../../support/content.ts';
import { partOf, WAYS, WRITING_WAYS } from '../../../support/ways.ts';

/** Every kind of member that an object of the response has. */
const MEMBERS = ['id', 'title', 'body', 'commentCount', 'createdAt', 'tags', '__typename'] as const;

/**
 * Names that the text of a statement might hold: aliases of tables and rows, columns, functions, what PostgreSQL adds to
 * every table, and what its JSON is read back by.
 */
const NAMES = [
  ...['r1', 'r1o', 'r2o', 'r3o', 'r1_', 't', 'g', 'k', 'p', 'n', 'o', 'data', 'rows', 'row', 'value', 'key'],
  ...[
    'id',
    'title',
    'body',
    'authorId',
    'author_id',
    'commentCount',
    'createdAt',
    'created_at',
    'name',
    'tags',
  ],
  ...['select', 'from', 'null', 'NULL', 'true', 'user', 'order', 'limit', 'coalesce', 'json_agg', 'to_json'],
  ...[
    'ctid',
    'xmin',
    'tableoid',
    'oid',
    '_',
    '__',
    '__typename_',
    '__proto__',
    'constructor',
    'toString',
    'toJSON',
  ],
  ...[
    'then',
    'length',
    'x'.repeat(63),
    'x'.repeat(64),
    'x'.repeat(65),
    `${'y'.repeat(99)}`,
    `${'y'.repeat(98)}z`,
  ],
] as const;

const object = (entries: readonly (readonly [string, unknown])[]) => Object.fromEntries(entries);

describe('A member of the response has the name that the client gave it', () => {
  // What the tests ask for at once is more than a client may by default.
  const app = useApp({ settings: { MAX_ALIASES: '900', MAX_TOKENS: '5000', MAX_COMPLEXITY: '100000' } });
  let account: Account;
  let expected: Record<(typeof MEMBERS)[number], unknown>[];

  beforeAll(async () => {
    account = await app.account({ name: 'Ada "of" Lovelace' });
    const ids = await seedPosts(
      app,
      ['b', 'a'].map((title, index) => ({
        authorId: account.id,
        title: `title\n${title}`,
        body: `body "${title}"\\`,
        createdAt: new Date(Date.UTC(2020, 1, 1, 0, 0, index)),
        tags: ['\t', title, '"'],
      })),
    );
    await seedComments(app, [{ postId: ids[0] ?? '', authorId: account.id, body: 'one\ntwo' }]);
    expected = [1, 0].map((index) => ({
      id: ids[index],
      title: `title\n${index === 0 ? 'b' : 'a'}`,
      body: `body "${index === 0 ? 'b' : 'a'}"\\`,
      commentCount: index === 0 ? 1 : 0,
      createdAt: new Date(Date.UTC(2020, 1, 1, 0, 0, index)).toISOString(),
      tags: ['\t', index === 0 ? 'b' : 'a', '"'],
      __typename: 'Post',
    }));
  });

  describe.each(WAYS)('by $name', (way) => {
    const ask = (query: string, variables?: Record<string, unknown>) =>
      way.ask(app, { key: account.key, query, ...(variables === undefined ? {} : { variables }) });

    it.each(partOf(NAMES, way))('in a list, beside another and alone: %s', async (name) => {
      for (const member of MEMBERS) {
        const beside = member === 'id' ? 'title' : 'id';
        const { data, errors } = await ask(`{ posts(limit: 2) { ${name}: ${member} other: ${beside} } }`);
        expect(errors).toBeUndefined();
        expect(data).toEqual({
          posts: expected.map((post) =>
            object([
              [name, post[member]],
              ['other', post[beside]],
            ]),
          ),
        });
      }
      const alone = await ask(`{ ${name}: posts(limit: 2) { ${name}: title } }`);
      expect(alone.data).toEqual(object([[name, expected.map(({ title }) => object([[name, title]]))]]));
    });

    it.each(partOf(NAMES, way))(
      'at every place of a tree of objects, lists and connections: %s',
      async (name) => {
        const tree = `{ ${name}: author { ${name}: posts(limit: 1) { ${name}: comments { ${name}: body } } } }`;
        const author = object([[name, object([[name, [object([[name, []]])]]])]]);
        const list = await ask(`{ ${name}: posts(limit: 2) ${tree} }`);
        expect(list.errors).toBeUndefined();
        expect(list.data).toEqual(object([[name, [author, author]]]));
        const page = await ask(
          `{ ${name}: postsConnection(first: 2) { ${name}: edges { ${name}: node ${tree} } pageInfo { ${name}: hasNextPage } } }`,
        );
        expect(page.errors).toBeUndefined();
        const edges = [author, author].map((node) => object([[name, node]]));
        expect(page.data).toEqual(
          object([
            [
              name,
              object([
                [name, edges],
                ['pageInfo', object([[name, false]])],
              ]),
            ],
          ]),
        );
        const row = await ask(`query ($id: ID!) { ${name}: post(id: $id) ${tree} }`, { id: expected[0]?.id });
        expect(row.data).toEqual(object([[name, author]]));
      },
    );

    it.each([2, 45, 49, 50, 51, 99, 100, 101, 200, 801, 850])(
      '%i members of one object, in their order',
      async (count) => {
        const names = Array.from({ length: count }, (_, index) =>
          `m${index}`.padEnd(count % 2 === 0 ? 2 : 70, '_'),
        );
        const field = (index: number) => MEMBERS[index % MEMBERS.length] ?? 'id';
        const members = names.map((name, index) => `${name}: ${field(index)}`).join(' ');
        const { data, errors } = await ask(`{ posts(limit: 2) { ${members} } }`);
        expect(errors).toBeUndefined();
        expect(Object.keys(data.posts[0])).toEqual(names);
        expect(data.posts).toEqual(
          expected.map((post) => object(names.map((name, index) => [name, post[field(index)]]))),
        );
      },
    );

    it.each([2, 24, 50])('%i root fields', async (count) => {
      const names = Array.from({ length: count }, (_, index) => `m${index}`);
      const { data, errors } = await ask(
        `{ ${names.map((name) => `${name}: posts(limit: 1) { id author { name } }`).join(' ')} }`,
      );
      expect(errors).toBeUndefined();
      const posts = [{ id: expected[0]?.id, author: { name: 'Ada "of" Lovelace' } }];
      expect(data).toEqual(object(names.map((name) => [name, posts])));
    });

    it('long names that differ in their last character only', async () => {
      const names = ['a', 'b', 'c'].map((last) => `${'n'.repeat(99)}${last}`);
      const { data, errors } = await ask(
        `{ posts(limit: 2) { ${names.map((name, index) => `${name}: ${MEMBERS[index]}`).join(' ')} } }`,
      );
      expect(errors).toBeUndefined();
      expect(data.posts).toEqual(
        expected.map((post) => object(names.map((name, index) => [name, post[MEMBERS[index] ?? 'id']]))),
      );
    });

    it('one name for two fields, under `nodes` and under the `node` of `edges`', async () => {
      const both = (nodes: string, node: string) =>
        ask(`{ postsConnection(first: 2) { nodes { ${nodes} } edges { node { ${node} } } } }`);
      const [newest] = expected;
      const name = 'Ada "of" Lovelace';
      const pairs: readonly (readonly [string, unknown, string, unknown])[] = [
        ['x: title', { x: newest?.title }, 'x: body', { x: newest?.body }],
        ['x: author { name }', { x: { name } }, 'x: title', { x: newest?.title }],
        ['x: tags', { x: newest?.tags }, 'x: commentCount', { x: newest?.commentCount }],
        ['x: __typename', { x: 'Post' }, 'x: title', { x: newest?.title }],
        ['x: title', { x: newest?.title }, 'x: __typename', { x: 'Post' }],
        ['x: comments { body }', { x: [] }, 'x: author { name }', { x: { name } }],
        [
          'x: comments { y: body }',
          { x: [] },
          'x: commentsConnection { nodes { y: id } }',
          { x: { nodes: [] } },
        ],
        ['x: comments(limit: 1) { id }', { x: [] }, 'x: comments(limit: 2) { id }', { x: [] }],
        ['x: author { y: name }', { x: { y: name } }, 'x: author { y: id }', { x: { y: account.id } }],
        [
          'x: author { y: posts(limit: 1) { z: title } }',
          { x: { y: [{ z: newest?.title }] } },
          'x: author { y: posts(limit: 1) { z: body } }',
          { x: { y: [{ z: newest?.body }] } },
        ],
        [
          'x: author { y: posts(limit: 1) { title } }',
          { x: { y: [{ title: newest?.title }] } },
          'x: author { y: createdAt }',
          { x: { y: expect.any(String) } },
        ],
      ];
      for (const [nodes, inNodes, node, inNode] of pairs)
        for (const [first, second, told, other] of [
          [nodes, node, inNodes, inNode],
          [node, nodes, inNode, inNodes],
        ] as const) {
          const { data, errors } = await both(first, second);
          expect(errors, first).toBeUndefined();
          expect(data.postsConnection.nodes[0], first).toEqual(told);
          expect(data.postsConnection.edges[0], second).toEqual({ node: other });
        }
    });

    it('in what errors name as their path', async () => {
      const { errors } = await ask(
        '{ __proto__: posts(limit: 1) { constructor: author { toString: email x: posts(limit: 101) { id } } } }',
      );
      expect(errors?.map(({ path }) => path)).toEqual([['__proto__', 0, 'constructor', 'x']]);
    });
  });

  describe.each(WRITING_WAYS)('by $name, in a mutation', (way) => {
    it.each(partOf(NAMES, way, WRITING_WAYS))('keyed and not: %s', async (name) => {
      const payloads = [
        [`${name}: title`, object([[name, 't']])],
        [`${name}: title other: id`, { ...object([[name, 't']]), other: expect.any(String) }],
        [`${name}: author { ${name}: name }`, object([[name, object([[name, 'Ada "of" Lovelace']])]])],
      ] as const;
      for (const [index, [selection, payload]] of payloads.entries())
        for (const headers of [{}, { 'idempotency-key': `${way.name} ${NAMES.indexOf(name)} ${index}` }]) {
          const query = `mutation { ${name}: createPost(title: "t", body: "b") { ${selection} } }`;
          const { data, errors } = await way.ask(app, { key: account.key, query, headers });
          expect(errors).toBeUndefined();
          expect(data).toEqual(object([[name, payload]]));
        }
    });
  });
});
