import type { Client } from 'pg';
import { encodeCursor, type Position } from '../../src/graphql/pagination/cursor.ts';
import { furnish as furnishCommon } from '../abuse/candidates.ts';
import { tidy } from '../data/content.ts';

/** What of the data an operation can name. */
export interface Known {
  readonly userIds: readonly string[];
  readonly postIds: readonly string[];
  /** Of posts of the caller's, which it may change. */
  readonly ownPostIds: readonly string[];
  readonly commentIds: readonly string[];
  readonly tags: readonly string[];
  readonly instants: readonly string[];
  /** Places in the lists of posts, users and comments. */
  readonly cursors: readonly string[];
}

const MANY = 30;
const COMMENTED = 5;
const COMMENTS = 1_000;
const LONG_COMMENT = 5_000;
const ESCAPED_POSTS = 50;
const ESCAPED_BODY = 50_000;
const TAGS_A_POST = 8;
const NEVER = 'no post has this tag';
/** What `load` dates its newest post, and so everything that an operation writes is newer. */
const NEWEST = `'2026-01-01T00:00:00Z'::timestamptz`;

/** The one whose key the search has, as `prepare` gives the first key to. */
const AUTHOR = `(SELECT id FROM users WHERE email_key LIKE '%@bench.example' ORDER BY md5(id::text) LIMIT 1)`;

/**
 * What an attacker could have written on top of what everybody has: a fifth of all posts are one author's; a tenth has
 * many long tags; some are commented on without an end, in long texts; some bodies are such that all of them is escaped.
 */
export async function furnish(client: Client): Promise<void> {
  await furnishCommon(client);
  await client.query(`UPDATE posts SET author_id = ${AUTHOR} WHERE abs(hashtext(id::text)) % 5 = 0`);
  await client.query(
    `INSERT INTO tags (post_id, name, position, created_at)
     SELECT id, rpad('tag ' || n || ' ', 50, 'é'), 3 + n, created_at
     FROM posts, generate_series(1, ${TAGS_A_POST - 1}) AS n WHERE hashtext(id::text) % 10 = 0`,
  );
  await client.query(
    `WITH chosen AS (SELECT id, created_at FROM posts ORDER BY created_at, id OFFSET 200 LIMIT ${ESCAPED_POSTS}),
       grown AS (UPDATE posts SET body = repeat(chr(1), ${ESCAPED_BODY}) WHERE id IN (SELECT id FROM chosen))
     INSERT INTO tags (post_id, name, position, created_at) SELECT id, 'escaped', 3, created_at FROM chosen`,
  );
  await client.query(
    `INSERT INTO comments (id, body, post_id, author_id, created_at)
     SELECT gen_random_uuid(), CASE WHEN n % 20 = 0 THEN repeat('é', ${LONG_COMMENT}) ELSE 'Comment ' || n END,
       p.id, ${AUTHOR}, p.created_at + n * interval '1 second'
     FROM (SELECT id, created_at FROM posts WHERE author_id = ${AUTHOR} ORDER BY created_at DESC, id LIMIT ${COMMENTED}) AS p,
       generate_series(1, ${COMMENTS}) AS n`,
  );
  await tidy(client);
}

async function cursors(client: Client): Promise<string[]> {
  const part = (table: string) =>
    `(SELECT id, created_at AS "createdAt" FROM ${table} ORDER BY created_at, id OFFSET 400 LIMIT 1)`;
  const tables = ['posts', 'users', 'comments'];
  const { rows } = await client.query<Position>(tables.map(part).join(' UNION ALL '));
  return rows.map(encodeCursor);
}

async function texts(client: Client, sql: string): Promise<string[]> {
  const { rows } = await client.query<{ text: string }>(sql);
  return rows.map(({ text }) => text);
}

/** What there is to name, once the data is furnished. */
export async function lookAround(client: Client): Promise<Known> {
  const own = `SELECT id FROM posts WHERE author_id = ${AUTHOR} ORDER BY created_at DESC, id LIMIT ${MANY}`;
  const tagged = (tag: string) =>
    `SELECT post_id::text AS text FROM tags WHERE name = '${tag}' LIMIT ${MANY}`;
  const ownPostIds = await texts(client, `SELECT id::text AS text FROM (${own}) AS own`);
  return {
    userIds: await texts(
      client,
      `SELECT id::text AS text FROM ((SELECT id, 0 AS n FROM users WHERE id = ${AUTHOR}) UNION (SELECT id, 1 FROM users LIMIT ${MANY})) AS u ORDER BY n`,
    ),
    postIds: [
      ...ownPostIds,
      ...(await texts(client, tagged('large'))),
      ...(await texts(client, tagged('escaped'))),
    ],
    ownPostIds,
    commentIds: await texts(
      client,
      `SELECT id::text AS text FROM comments WHERE post_id IN (${own}) ORDER BY id LIMIT ${4 * MANY}`,
    ),
    tags: ['common', 'rare', 'large', 'escaped', `tag 1 ${'é'.repeat(44)}`, NEVER],
    instants: [
      '0001-01-01T00:00:00Z',
      '2025-12-01T00:00:00Z',
      '2025-12-31T23:00:00Z',
      '9999-01-01T00:00:00Z',
    ],
    cursors: await cursors(client),
  };
}

/** Keeps a copy of what an operation may change or delete: the caller's newest posts and what hangs on them. */
export async function keepCopies(client: Client, { ownPostIds }: Known): Promise<void> {
  const copy = (table: string, column: string) =>
    client.query(`CREATE TABLE kept_${table} AS SELECT * FROM ${table} WHERE ${column} = ANY($1::uuid[])`, [
      ownPostIds,
    ]);
  await copy('posts', 'id');
  await copy('tags', 'post_id');
  await copy('comments', 'post_id');
}

/** Undoes what an operation has written, changed and deleted. */
export async function restore(client: Client): Promise<void> {
  await client.query(`BEGIN;
    DELETE FROM posts WHERE created_at > ${NEWEST};
    DELETE FROM comments WHERE post_id IN (SELECT id FROM kept_posts) AND id NOT IN (SELECT id FROM kept_comments);
    DELETE FROM tags WHERE post_id IN (SELECT id FROM kept_posts);
    INSERT INTO posts SELECT * FROM kept_posts ON CONFLICT (id) DO UPDATE SET title = excluded.title, body = excluded.body
      WHERE (posts.title, posts.body) IS DISTINCT FROM (excluded.title, excluded.body);
    INSERT INTO tags SELECT * FROM kept_tags;
    SET LOCAL session_replication_role = replica;
    INSERT INTO comments SELECT * FROM kept_comments ON CONFLICT (id) DO NOTHING;
    UPDATE posts SET comment_count = k.comment_count FROM kept_posts k
      WHERE posts.id = k.id AND posts.comment_count <> k.comment_count;
    DELETE FROM events; DELETE FROM idempotency_keys;
    COMMIT`);
}

/** Takes away what `restore` has left behind. */
export async function sweep(client: Client): Promise<void> {
  await client.query('VACUUM posts, comments, tags, events, idempotency_keys');
}
