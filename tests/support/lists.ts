import type { TestApp } from './app.ts';
import { createPost, past, seedComments, seedPosts } from './content.ts';
import { dataOf } from './rejection.ts';

/** A connection of the schema, with the list that it must lead through. */
export interface Connection {
  readonly coordinate: string;
  /** The query with the connection's own arguments in, wanting `selection` of it. */
  readonly query: (args: string, selection: string) => string;
  /** The same items as a plain list, at most 100. */
  readonly list: string;
}

/** Content for each list of the schema: `count` items a list, several of them made in the same millisecond. */
export async function seedLists(app: TestApp, key: string, count: number): Promise<Connection[]> {
  const { viewer } = dataOf(await app.gql('{ viewer { id } }', { key }));
  const places = Array.from({ length: count }, (_, index) => index);
  for (const _ of places.slice(1)) await app.account();
  const dates = places.map((index) => past((index * 7) % Math.ceil(count / 3)));
  await seedPosts(
    app,
    dates.map((createdAt, index) => ({
      authorId: viewer.id,
      createdAt,
      tags: index % 2 === 0 ? ['even'] : ['odd'],
    })),
  );
  const postId = await createPost(app, key);
  await seedComments(
    app,
    dates.map((createdAt) => ({ postId, authorId: viewer.id, createdAt })),
  );
  return connectionsOf(viewer.id, postId);
}

/** Every connection of the schema: those of the user and the post given, and the global ones. */
export function connectionsOf(userId: string, postId: string): Connection[] {
  return [
    {
      coordinate: 'Query.usersConnection',
      query: (args, selection) => `{ list: usersConnection${inParentheses(args)} ${selection} }`,
      list: '{ list: users(limit: 100) { id } }',
    },
    {
      coordinate: 'Query.postsConnection',
      query: (args, selection) => `{ list: postsConnection${inParentheses(args)} ${selection} }`,
      list: '{ list: posts(limit: 100) { id } }',
    },
    {
      coordinate: 'Query.postsConnection(tag:)',
      query: (args, selection) => `{ list: postsConnection(tag: "even" ${args}) ${selection} }`,
      list: '{ list: posts(limit: 100, tag: "even") { id } }',
    },
    {
      coordinate: 'User.postsConnection',
      query: (args, selection) =>
        `{ parent: user(id: "${userId}") { list: postsConnection${inParentheses(args)} ${selection} } }`,
      list: `{ parent: user(id: "${userId}") { list: posts(limit: 100) { id } } }`,
    },
    {
      coordinate: 'Post.commentsConnection',
      query: (args, selection) =>
        `{ parent: post(id: "${postId}") { list: commentsConnection${inParentheses(args)} ${selection} } }`,
      list: `{ parent: post(id: "${postId}") { list: comments(limit: 100) { id } } }`,
    },
    {
      coordinate: 'User.commentsConnection',
      query: (args, selection) =>
        `{ parent: user(id: "${userId}") { list: commentsConnection${inParentheses(args)} ${selection} } }`,
      list: `{ parent: user(id: "${userId}") { list: comments(limit: 100) { id } } }`,
    },
    // What a mutation returns is read by loaders, what a query asks for in one statement: both keep the same promises.
    {
      coordinate: 'User.postsConnection after a mutation',
      query: (args, selection) =>
        `mutation { parent: updatePost(id: "${postId}") { parent: author { list: postsConnection${inParentheses(args)} ${selection} } } }`,
      list: `{ parent: user(id: "${userId}") { list: posts(limit: 100) { id } } }`,
    },
    {
      coordinate: 'Post.commentsConnection after a mutation',
      query: (args, selection) =>
        `mutation { parent: updatePost(id: "${postId}") { list: commentsConnection${inParentheses(args)} ${selection} } }`,
      list: `{ parent: post(id: "${postId}") { list: comments(limit: 100) { id } } }`,
    },
  ];
}

/** The coordinates of `connectionsOf`, to name tests by before there is any content. */
export const CONNECTION_COORDINATES = connectionsOf('', '').map(({ coordinate }) => coordinate);

const inParentheses = (args: string) => (args === '' ? '' : `(${args})`);

const PAGE =
  '{ edges { cursor node { id } } nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }';

export interface Page {
  readonly edges: readonly { readonly cursor: string; readonly node: { readonly id: string } }[];
  readonly nodes: readonly { readonly id: string }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

interface Nested<List> {
  readonly list?: List;
  readonly parent?: Nested<List>;
}

function listIn<List>({ list, parent }: Nested<List>): List {
  if (list !== undefined) return list;
  if (parent === undefined) throw new Error('the answer holds no list');
  return listIn(parent);
}

/** One page of a connection; `args` as they stand between its parentheses. */
export async function readPage(app: TestApp, key: string, { query }: Connection, args = ''): Promise<Page> {
  const data = dataOf(await app.gql(query(args, PAGE), { key }));
  return listIn<Page>(data);
}

/** The ids of the plain list. */
export async function readList(app: TestApp, key: string, { list }: Connection): Promise<string[]> {
  const data = dataOf(await app.gql(list, { key }));
  return listIn<{ id: string }[]>(data).map(({ id }) => id);
}

/** The arguments of the page of `size` after a cursor. */
export const pageArguments = (size: number, after: string | null = null) =>
  `first: ${size}, after: ${JSON.stringify(after)}`;

/** Those of the page of `size` before one. */
export const pageBefore = (size: number, before: string | null = null) =>
  `last: ${size}, before: ${JSON.stringify(before)}`;
