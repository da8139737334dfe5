import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { tidy } from '../data/content.ts';
import { postRequest } from '../harness/connection.ts';

/** An operation of a size that can be chosen, up to what the limits of the default settings accept. */
export interface Candidate {
  readonly name: string;
  readonly maxSize: number;
  operation(size: number): string;
  /** Whether every request gets an Idempotency-Key of its own. */
  readonly keyed?: boolean;
}

/** A candidate at the greatest size that is accepted. */
export interface Accepted extends Candidate {
  readonly size: number;
}

/** What most posts have, what few have, and what has the longest bodies that posts may have, a letter of two bytes each. */
const COMMON = 'common';
const RARE = 'rare';
const LARGE = 'large';
const LARGE_POSTS = 100;
const LARGE_BODY = 50_000;
const MAX_LIST = 100;
const MAX_ALIASES = 30;
const PAGES = 4;

const repeat = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => part(index)).join(' ');

const pages = (size: number, filter: string) =>
  `{ ${repeat(PAGES, (i) => `a${i}: posts(limit: ${size}, offset: ${10_000 - i}${filter}) { id title body }`)} }`;

const copies = (size: number) => `posts(tag: "${LARGE}", limit: 4) { ${repeat(size, (i) => `b${i}: body`)} }`;

const list = (name: string, operation: (size: number) => string, maxSize = MAX_LIST): Candidate => ({
  name,
  maxSize,
  operation,
});

/** Operations that are dear in different ways: skipped rows, wide and deep lists, connections, large answers, writes. */
export const CANDIDATES: readonly Candidate[] = [
  list('four pages at the greatest offset', (size) => pages(size, '')),
  list('four pages of a tag that most posts have', (size) => pages(size, `, tag: "${COMMON}"`)),
  list('four pages of a tag that few posts have', (size) => pages(size, `, tag: "${RARE}"`)),
  list(
    'four pages of users at the greatest offset',
    (size) =>
      `{ ${repeat(PAGES, (i) => `a${i}: users(limit: ${size}, offset: ${9_900 - i}) { id name posts(limit: 1) { id } }`)} }`,
  ),
  list(
    'wide lists in a list, with bodies',
    (size) => `{ posts(limit: 100) { body author { posts(limit: ${size}) { title body } } } }`,
  ),
  list(
    'wide lists in a list, with bodies, executed',
    (size) =>
      `{ viewer { email } posts(limit: 100) { body author { posts(limit: ${size}) { title body } } } }`,
  ),
  list(
    'short lists in lists, four deep',
    (size) =>
      `{ posts(limit: ${size}) { author { posts(limit: 10) { author { posts(limit: 3) { author { posts(limit: 2) { id } } } } } } } }`,
  ),
  list(
    'one item in one item, many times',
    (size) =>
      `{ posts(limit: ${size}) { author { posts(limit: 1) { author { posts(limit: 1) { author { posts(limit: 1) { author { name } } } } } } } } }`,
  ),
  list(
    'many lists of one',
    (size) =>
      `{ ${repeat(size, (i) => `a${i}: posts(limit: 1, offset: ${i}) { author { posts(limit: 1) { comments(limit: 1) { author { posts(limit: 1) { id } } } } } }`)} }`,
    MAX_ALIASES,
  ),
  list(
    'comments with their authors’ posts',
    (size) =>
      `{ posts(limit: ${size}) { commentCount tags comments(limit: 3) { body author { posts(limit: 5) { title } } } } }`,
  ),
  list(
    'connections in a list',
    (size) =>
      `{ posts(limit: ${size}) { author { postsConnection(first: 20) { edges { cursor node { title body } } pageInfo { hasNextPage endCursor } } } } }`,
  ),
  list(
    'connections of one in a list',
    (size) =>
      `{ posts(limit: ${size}) { author { postsConnection(first: 1) { edges { node { commentsConnection(first: 1) { edges { node { author { name } } } pageInfo { hasNextPage } } } } pageInfo { hasNextPage } } } } }`,
  ),
  list('an answer of the greatest size', (size) => `{ ${copies(size)} }`, MAX_ALIASES),
  list(
    'an answer of the greatest size, executed',
    (size) => `{ viewer { email } ${copies(size)} }`,
    MAX_ALIASES,
  ),
  {
    name: 'keyed mutations of many fields',
    maxSize: MAX_ALIASES,
    keyed: true,
    operation: (size) =>
      `mutation { ${repeat(size, (i) => `a${i}: createPost(title: "a", body: "a", tags: ["a", "b"]) { author { posts(limit: 10) { title body } } }`)} }`,
  },
];

/** Posts with tags, and long ones, as an attacker could have written them. */
export async function furnish(client: Client): Promise<void> {
  await client.query(
    `INSERT INTO tags (post_id, name, position, created_at)
     SELECT id, $1, 1, created_at FROM posts WHERE hashtext(id::text) % 4 <> 0
     UNION ALL SELECT id, $2, 2, created_at FROM posts WHERE hashtext(id::text) % 100 = 0`,
    [COMMON, RARE],
  );
  await client.query(
    `WITH oldest AS (SELECT id, created_at FROM posts ORDER BY created_at, id LIMIT ${LARGE_POSTS}),
       grown AS (UPDATE posts SET body = repeat('é', ${LARGE_BODY}) WHERE id IN (SELECT id FROM oldest))
     INSERT INTO tags (post_id, name, position, created_at) SELECT id, $1, 3, created_at FROM oldest`,
    [LARGE],
  );
  await tidy(client);
}

/** What an attacker sends, one after another. */
export function requestsFor({ operation, keyed = false, size }: Accepted, key: string): () => Buffer {
  const query = operation(size);
  const headers = { authorization: `Bearer ${key}` };
  if (keyed) return () => postRequest('/graphql', { query }, { ...headers, 'idempotency-key': randomUUID() });
  const request = postRequest('/graphql', { query }, headers);
  return () => request;
}
