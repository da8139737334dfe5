import { beforeAll, describe, expect, it } from 'vitest';
import type { Scope } from '../../../src/auth/scopes.ts';
import { newId } from '../../../src/platform/ids.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { graphqlPost, readResponse } from '../../support/graphql.ts';
import { dataOf, expectBadInput, expectRejected } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { type SeededNodes, seedNodes } from './seeded-nodes.ts';

const EVERY_TYPE = `query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id
  ... on User { name } ... on Post { title } ... on Comment { body } } }`;

const WAYS = [
  ['as text from the database', true],
  ['by resolvers', false],
] as const;

describe('Query.node and Query.nodes', () => {
  const app = useApp();
  const reader = useAccount(app);
  let seeded: SeededNodes;
  beforeAll(async () => {
    seeded = await seedNodes(app, 3);
  });
  const keyWith = async (...scopes: Scope[]) => (await app.account({ scopes })).key;

  describe.each(WAYS)('%s', (_way, lookAhead) => {
    async function ask(query: string, variables: Record<string, unknown>, key = reader.key) {
      const { fetch } = secondInstance(app, { lookAhead });
      return readResponse(await fetch('/graphql', graphqlPost(query, { key, variables })));
    }

    it('finds an object of any type by its id alone', async () => {
      const query = 'query ($id: ID!) { node(id: $id) { __typename id } }';
      const [user, post, comment] = seeded.mixed;
      for (const [id, type] of [
        [user, 'User'],
        [post, 'Post'],
        [comment, 'Comment'],
      ] as const)
        expect(dataOf(await ask(query, { id })).node).toEqual({ __typename: type, id });
    });

    it('returns objects in the order of the ids, again where an id is repeated, null where there is none', async () => {
      const { authors, posts, comments } = seeded;
      const ids = [
        comments[1],
        newId(),
        authors[0]?.id,
        posts[2],
        'none',
        comments[1],
        posts[2]?.toUpperCase(),
      ];
      const comment = { __typename: 'Comment', id: comments[1], body: 'Comment 1' };
      const post = { __typename: 'Post', id: posts[2], title: 'Post 2' };
      const user = { __typename: 'User', id: authors[0]?.id, name: 'Author 0' };
      expect(dataOf(await ask(EVERY_TYPE, { ids })).nodes).toEqual([
        comment,
        null,
        user,
        post,
        null,
        comment,
        post,
      ]);
    });

    it('returns an empty list for no ids, and takes one id for a list', async () => {
      expect(dataOf(await ask(EVERY_TYPE, { ids: [] })).nodes).toEqual([]);
      expect(dataOf(await ask(EVERY_TYPE, { ids: seeded.posts[0] })).nodes).toHaveLength(1);
      expect(dataOf(await ask('{ nodes(ids: "none") { id } }', {})).nodes).toEqual([null]);
    });

    it('selects by type: fragments on types and on Node, nested, named, and empty for other types', async () => {
      const query = `query ($ids: [ID!]!) { nodes(ids: $ids) { ...N ... on Post { ... on Node { b: id ... on Post { title } } } } }
        fragment N on Node { ... on User { a: name posts(limit: 1) { ... on Node { id } title } } ...C }
        fragment C on Comment { author { ...U } post { title } } fragment U on Node { id }`;
      const { authors, posts, comments, mixed } = seeded;
      expect(dataOf(await ask(query, { ids: mixed.slice(0, 3) })).nodes).toEqual([
        { a: 'Author 0', posts: [{ id: posts[0], title: 'Post 0' }] },
        { b: posts[0], title: 'Post 0' },
        { author: { id: authors[1]?.id }, post: { title: 'Post 0' } },
      ]);
      expect(comments).toHaveLength(3);
      const empty = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on User { id } } }';
      expect(dataOf(await ask(empty, { ids: mixed.slice(0, 3) })).nodes).toEqual([
        { id: authors[0]?.id },
        {},
        {},
      ]);
    });

    it('keeps apart what has one response name on several types, arguments included', async () => {
      const query = `query ($ids: [ID!]!, $n: Int!) { nodes(ids: $ids) {
        ... on User { x: name list: posts(limit: $n) { id } }
        ... on Post { x: title list: comments(limit: 1) { id } }
        ... on Comment { x: body } } }`;
      const { posts, comments, mixed } = seeded;
      expect(dataOf(await ask(query, { ids: mixed.slice(0, 3), n: 0 })).nodes).toEqual([
        { x: 'Author 0', list: [] },
        { x: 'Post 0', list: [{ id: comments[0] }] },
        { x: 'Comment 0' },
      ]);
      const [user] = dataOf(await ask(query, { ids: mixed.slice(0, 3), n: 5 })).nodes;
      expect(user.list).toEqual([{ id: posts[0] }]);
    });

    it('reads the connections of a node on from a cursor', async () => {
      const query = `query ($id: ID!, $after: String) { node(id: $id) { ... on User {
        postsConnection(first: 1, after: $after) { edges { cursor node { title } } pageInfo { hasNextPage endCursor } } } } }`;
      const [{ id = '' } = {}] = seeded.authors;
      const first = dataOf(await ask(query, { id })).node.postsConnection;
      expect(first.edges).toEqual([{ cursor: first.pageInfo.endCursor, node: { title: 'Post 0' } }]);
      const next = dataOf(await ask(query, { id, after: first.pageInfo.endCursor })).node.postsConnection;
      expect(next).toEqual({ edges: [], pageInfo: { hasNextPage: false, endCursor: null } });
    });

    it('rejects only the objects of a type whose scope is missing, each at its path', async () => {
      const ids = [...seeded.mixed.slice(0, 3), newId()];
      for (const [key, hidden] of [
        [await keyWith('posts:read'), [0]],
        [await keyWith('users:read'), [1, 2]],
        [await keyWith('posts:write'), [0, 1, 2]],
      ] as const) {
        const { status, data, errors } = await ask(
          'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }',
          { ids },
          key,
        );
        expect(status).toBe(200);
        expect(data.nodes).toEqual(
          ids.map((id, at) => (at === 3 || (hidden as readonly number[]).includes(at) ? null : { id })),
        );
        expect(errors?.map(({ path, extensions }) => [path, extensions.code])).toEqual(
          hidden.map((at) => [['nodes', at], 'FORBIDDEN']),
        );
      }
    });

    it('rejects a node whose scope is missing with null beside the rest, and tells nothing of unknown ids', async () => {
      const key = await keyWith('posts:read');
      const query = 'query ($id: ID!, $none: ID!) { a: node(id: $id) { id } b: node(id: $none) { id } }';
      const response = await ask(query, { id: seeded.mixed[0], none: newId() }, key);
      expectRejected(response, { code: 'FORBIDDEN' });
      expect(response.errors?.[0]?.path).toEqual(['a']);
      expect(response.data).toEqual({ a: null, b: null });
    });

    it('guards the fields of a node as anywhere else', async () => {
      const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on User { email } } }';
      const own = await ask(query, { ids: [reader.id] });
      expect(dataOf(own).nodes).toEqual([{ email: reader.email }]);
      const others = await ask(query, { ids: [reader.id, seeded.mixed[0]] });
      expectRejected(others, { code: 'FORBIDDEN' });
      expect(others.errors?.[0]?.path).toEqual(['nodes', 1, 'email']);
      expect(others.data.nodes).toEqual([{ email: reader.email }, null]);
      const admin = await app.account({ role: 'admin' });
      expect(dataOf(await ask(query, { ids: [reader.id] }, admin.key)).nodes).toEqual([
        { email: reader.email },
      ]);
      const keys = await ask('query ($id: ID!) { node(id: $id) { ... on User { apiKeys { id } } } }', {
        id: reader.id,
      });
      expectRejected(keys, { code: 'FORBIDDEN' });
      const lists = await ask(
        'query ($id: ID!) { node(id: $id) { ... on User { posts { id } } } }',
        { id: reader.id },
        await keyWith('users:read'),
      );
      expectRejected(lists, { code: 'FORBIDDEN' });
      expect(lists.data).toEqual({ node: null });
    });

    it('takes a hundred ids and no more', async () => {
      const ids = Array.from({ length: 100 }, (_, at) => seeded.mixed[at % 9] ?? '');
      expect(dataOf(await ask(EVERY_TYPE, { ids })).nodes.map(({ id }: { id: string }) => id)).toEqual(ids);
      const tooMany = await ask(EVERY_TYPE, { ids: [...ids, 'x'] });
      expectBadInput(tooMany, 'ids', /"ids" .*at most 100.*101/);
      expect(tooMany.data ?? null).toBeNull();
    });

    it.each([
      ['query ($i: ID = "x") { nodes(ids: [$i]) { id } }', 'ids'],
      ['query ($i: ID = "x") { viewer { id } nodes(ids: ["y", $i]) { id } }', 'ids'],
      ['query ($i: [ID!] = ["x"]) { nodes(ids: $i) { id } }', 'ids'],
      ['query ($i: ID = "x") { viewer { id } node(id: $i) { id } }', 'id'],
    ])('names the argument that a null variable makes invalid: %s', async (query, argument) => {
      const rejected = await ask(query, { i: null });
      expectBadInput(rejected, argument);
      expect(JSON.stringify(rejected.errors)).not.toContain('"argument":"i"');
    });

    it('leaves out what is skipped', async () => {
      const query = `query ($ids: [ID!]!, $no: Boolean!) { nodes(ids: $ids) {
        ... on User @include(if: $no) { name } ... on Post { title @skip(if: $no) id } __typename @include(if: $no) } }`;
      expect(dataOf(await ask(query, { ids: seeded.mixed.slice(0, 2), no: false })).nodes).toEqual([
        {},
        { title: 'Post 0', id: seeded.posts[0] },
      ]);
      expect(dataOf(await ask(query, { ids: seeded.mixed.slice(0, 2), no: true })).nodes).toEqual([
        { name: 'Author 0', __typename: 'User' },
        { id: seeded.posts[0], __typename: 'Post' },
      ]);
    });
  });

  it('is implemented by User, Post, Comment and later types', async () => {
    const { __type } = dataOf(
      await app.gql('{ __type(name: "Node") { kind fields { name } possibleTypes { name } } }', {
        key: reader.key,
      }),
    );
    expect(__type.kind).toBe('INTERFACE');
    expect(__type.fields).toEqual([{ name: 'id' }]);
    const names = __type.possibleTypes.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['Comment', 'Post', 'User']));
  });
});

describe('Query.node without credentials, where ANONYMOUS_READ is on', () => {
  const app = useApp({ settings: { ANONYMOUS_READ: 'true' } });
  let seeded: SeededNodes;
  beforeAll(async () => {
    seeded = await seedNodes(app, 1);
  });

  it('reads posts and comments, with the names of their authors; users are rejected', async () => {
    const query = `query ($ids: [ID!]!) { nodes(ids: $ids) { id
      ... on Post { author { name } } ... on Comment { body } ... on User { name } } }`;
    const response = await app.gql(query, { variables: { ids: seeded.mixed } });
    expectRejected(response, { code: 'FORBIDDEN' });
    expect(response.errors?.[0]?.path).toEqual(['nodes', 0]);
    expect(response.data.nodes).toEqual([
      null,
      { id: seeded.posts[0], author: { name: 'Author 0' } },
      { id: seeded.comments[0], body: 'Comment 0' },
    ]);
  });

  it('executes nothing of an operation that asks for an e-mail address', async () => {
    const response = await app.gql('query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on User { email } } }', {
      variables: { ids: seeded.posts },
    });
    expectRejected(response, { code: 'UNAUTHENTICATED', status: 401 });
  });
});
