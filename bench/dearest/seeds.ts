import { parse } from 'graphql';
import { CANDIDATES } from '../abuse/candidates.ts';
import type { Known } from './known.ts';
import { type Operation, operationOf } from './operation.ts';

/** Divisors of the sizes that hand-written operations have: those that the limits refuse are tried smaller. */
const DIVISORS = [1, 2, 4, 10, 30, 100] as const;

const repeat = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => part(index)).join(' ');

/** Every kind of root field, and shapes that are dear each in a way of its own. */
function texts({ userIds, postIds, ownPostIds, commentIds }: Known): string[] {
  const [user = ''] = userIds;
  const [own = ''] = ownPostIds;
  return [
    '{ viewer { id name email } }',
    '{ viewer { email posts(limit: 100) { title commentCount } } }',
    `{ user(id: "${user}") { posts(limit: 100) { comments(limit: 10) { author { name } } } } }`,
    `{ ${repeat(20, (i) => `a${i}: post(id: "${postIds[i]}") { title body tags }`)} }`,
    `{ user(id: "${user}") { postsConnection(first: 50) { nodes { commentsConnection(first: 10) { edges { cursor node { body } } } } } } }`,
    '{ usersConnection(first: 100) { edges { cursor node { name } } pageInfo { startCursor endCursor hasNextPage } } }',
    '{ postsConnection(first: 50, tag: "common") { nodes { tags title } edges { node { tags body } } } }',
    `{ posts(limit: 100) { ${repeat(25, (i) => `a${i}: tags`)} } }`,
    `{ posts(limit: 100) { ${repeat(15, (i) => `a${i}: author { name }`)} } }`,
    `{ posts(limit: 50) { ${repeat(20, (i) => `a${i}: comments(limit: 1) { id }`)} } }`,
    `{ posts(limit: 1) { ${repeat(25, (i) => `a${i}: comments(limit: ${i}, offset: ${i}) { author { name } }`)} } }`,
    `{ posts(limit: 0) { author { ${repeat(8, () => 'posts(limit: 1) { author { name } }')} } } }`,
    `{ posts(limit: 25) { author { postsConnection(first: 0) { nodes { ${repeat(25, (i) => `a${i}: author { posts(limit: 100) { comments(limit: 100) { id } } }`)} } } } } }`,
    `{ posts(limit: 100) { author { ${repeat(4, (i) => `a${i}: postsConnection(first: 1) { nodes { author { postsConnection(first: 1) { nodes { author { postsConnection(first: 1) { nodes { id } } } } } } } }`)} } } }`,
    '{ posts(limit: 100) { author { posts(limit: 20) { title } } } }',
    '{ posts(createdAfter: "0001-01-01T00:00:00Z", limit: 100, tag: "rare") { id createdAt } }',
    `{ post(id: "${own}") { comments(limit: 100, offset: 900) { body } commentsConnection(first: 100) { nodes { body } } } }`,
    '{ __schema { types { name description fields { name description args { name description } type { name kind } } } } }',
    '{ __type(name: "Post") { fields { name description } } __typename }',
    `mutation { ${repeat(25, (i) => `a${i}: createComment(postId: "${ownPostIds[i] ?? own}", body: "x") { id post { title } }`)} }`,
    `mutation { ${repeat(10, (i) => `a${i}: deleteComment(id: "${commentIds[i]}")`)} }`,
    `mutation { ${repeat(20, (i) => `a${i}: deletePost(id: "${ownPostIds[i]}")`)} }`,
    `mutation { ${repeat(20, (i) => `a${i}: updatePost(id: "${ownPostIds[i]}", body: "new", tags: ["a", "b"]) { title tags }`)} }`,
  ];
}

/** What a search begins with, in several sizes. */
export function seeds(known: Known): Operation[] {
  const written = texts(known).map((text) => operationOf(parse(text), false));
  const sized = CANDIDATES.flatMap(({ operation, maxSize, keyed = false }) =>
    [...new Set(DIVISORS.map((divisor) => Math.ceil(maxSize / divisor)))].map((size) =>
      operationOf(parse(operation(size)), keyed),
    ),
  );
  const mutations = written.filter(({ kind }) => kind === 'mutation');
  return [...written, ...mutations.map((operation) => ({ ...operation, keyed: true })), ...sized];
}
