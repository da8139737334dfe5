import { freeSlug, slugsFor } from '../slug.ts';

/** What the floor may be sent; each statement knows what it needs. */
export interface Body {
  readonly id: string;
  readonly authorId: string;
  readonly title: string;
  readonly body: string;
}

/** A statement that returns the whole response as JSON. */
export interface ResponseData {
  readonly name: string;
  readonly text: string;
  readonly values: (body: Body) => unknown[];
}

/** A place in the order: the time and the id of a row, in 32 characters without padding. */
const cursor = (row: string) =>
  `encode(int8send((extract(epoch FROM ${row}.created_at) * 1000)::int8) || uuid_send(${row}.id), 'base64')`;

const author = (row: string) =>
  `(SELECT row_to_json(u) FROM (SELECT name FROM users WHERE id = ${row}.author_id) u)`;

/** The same as text: nested objects cost PostgreSQL less when they are put together as text. */
const authorText = (row: string) =>
  `(SELECT '{"name":' || to_json(name)::text || '}' FROM users WHERE id = ${row}.author_id)`;
const personText = (row: string) =>
  `(SELECT '{"id":"' || id::text || '","name":' || to_json(name)::text || '}' FROM users WHERE id = ${row}.author_id)`;

/**
 * The text of a connection. `rows` names one row more than a page has, which tells whether there is a next one; `edges`
 * has a page of them, as the texts of cursor and node.
 */
const connection = (rows: string, edges: string, size: number) =>
  `'{"edges":[' || coalesce(string_agg('{"cursor":"' || ${edges}.cursor || '","node":' || ${edges}.node || '}', ','), '')
    || '],"pageInfo":{"hasNextPage":' || CASE WHEN EXISTS (SELECT FROM ${rows} OFFSET ${size}) THEN 'true' ELSE 'false' END
    || ',"endCursor":' || coalesce('"' || (array_agg(${edges}.cursor))[count(*)::int] || '"', 'null') || '}}'`;

/** One post more than a page has. */
const FIRST_POSTS = `p AS MATERIALIZED (
    SELECT id, title, author_id, created_at, comment_count FROM posts ORDER BY created_at DESC, id DESC LIMIT 21)`;

const LIST = `SELECT '{"data":{"posts":' || coalesce(json_agg(p)::text, '[]') || '}}' AS json FROM (
    SELECT id, title, ${author('posts')} AS author
    FROM posts ORDER BY created_at DESC, id DESC LIMIT 20) p`;

const commentText = (row: string) =>
  `'{"body":' || to_json(${row}.body)::text || ',"author":' || ${authorText(row)} || '}'`;

const COMMENTS = `(WITH c AS MATERIALIZED (
      SELECT id, created_at, body, author_id FROM comments WHERE post_id = p.id ORDER BY created_at, id LIMIT 4),
    f AS (SELECT ${cursor('c')} AS cursor, ${commentText('c')} AS node FROM c LIMIT 3)
    SELECT ${connection('c', 'f', 3)} FROM f)`;

const nodeText = (row: string) =>
  `'{"id":"' || ${row}.id::text || '","title":' || to_json(${row}.title)::text || ',"author":' || ${authorText(row)}`;

/** A page of posts, of which `node` is the text of one. */
const edgesOf = (node: string) => `WITH ${FIRST_POSTS},
  e AS (SELECT ${cursor('p')} AS cursor, ${node} || '}' AS node FROM p LIMIT 20)`;

const connectionOf = (node: string) => `${edgesOf(node)}
  SELECT '{"data":{"postsConnection":' || ${connection('p', 'e', 20)} || '}}' AS json FROM e`;

const CARD = `'{"id":"' || p.id::text || '","title":' || to_json(p.title)::text || ',"tags":['
    || (SELECT coalesce(string_agg(to_json(t.name)::text, ','), '') FROM (
      SELECT name FROM tags WHERE post_id = p.id ORDER BY position) t)
    || '],"createdAt":"' || to_char(p.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    || '","commentCount":' || p.comment_count::text || ',"author":' || ${personText('p')} || ',"preview":['
    || (SELECT coalesce(string_agg('{"id":"' || c.id::text || '","body":' || to_json(c.body)::text
        || ',"author":' || ${personText('c')} || '}', ','), '') FROM (
      SELECT id, body, author_id FROM comments WHERE post_id = p.id ORDER BY created_at, id LIMIT 2) c) || ']'`;

const none = () => [];
const post = ({ authorId, title, body }: Body) => [authorId, title, body, slugsFor(title)];

/**
 * Hand-written, one a workload, in the form that cost PostgreSQL least of those tried. Of connections the first page;
 * sizes are written out, because PostgreSQL plans for more rows where a size is a parameter.
 */
export const RESPONSES: Readonly<Record<string, ResponseData>> = {
  '/W1': {
    name: 'w1',
    text: `SELECT '{"data":{"user":' || coalesce((SELECT row_to_json(a)::text FROM (
        SELECT name, (SELECT coalesce(json_agg(p), '[]') FROM (
          SELECT title, comment_count AS "commentCount" FROM posts WHERE author_id = u.id
          ORDER BY created_at DESC, id DESC LIMIT 10) p) AS posts
        FROM users u WHERE id = $1) a), 'null') || '}}' AS json`,
    values: ({ id }) => [id],
  },
  '/W2': { name: 'w2', text: LIST, values: none },
  '/W3': {
    name: 'w3',
    text: `SELECT '{"data":{"posts":' || coalesce(json_agg(p)::text, '[]') || '}}' AS json FROM (
        SELECT title, (SELECT row_to_json(a) FROM (
          SELECT name, (SELECT coalesce(json_agg(q), '[]') FROM (
            SELECT title, comment_count AS "commentCount" FROM posts WHERE author_id = u.id
            ORDER BY created_at DESC, id DESC LIMIT 5) q) AS posts
          FROM users u WHERE id = posts.author_id) a) AS author
        FROM posts ORDER BY created_at DESC, id DESC LIMIT 20) p`,
    values: none,
  },
  '/W4': {
    name: 'w4',
    text: `INSERT INTO posts (author_id, title, body, slug) VALUES ($1, $2, $3, ${freeSlug('$4')})
      RETURNING json_build_object('data', json_build_object('createPost', json_build_object('id', id, 'title', title)))::text AS json`,
    values: post,
  },
  '/W5': { name: 'w5', text: connectionOf(nodeText('p')), values: none },
  '/W5l': { name: 'w2', text: LIST, values: none },
  '/W6': {
    name: 'w6',
    text: connectionOf(`${nodeText('p')} || ',"commentsConnection":' || ${COMMENTS}`),
    values: none,
  },
  '/W6l': {
    name: 'w6_list',
    text: `SELECT '{"data":{"posts":[' || coalesce(string_agg(${nodeText('p')} || ',"comments":['
          || (SELECT coalesce(string_agg(${commentText('c')}, ','), '') FROM (
            SELECT body, author_id FROM comments WHERE post_id = p.id ORDER BY created_at, id LIMIT 3) c)
          || ']}', ','), '') || ']}}' AS json
        FROM (SELECT id, title, author_id FROM posts ORDER BY created_at DESC, id DESC LIMIT 20) p`,
    values: none,
  },
  '/W8a': { name: 'w2', text: LIST, values: none },
  '/W8b': { name: 'w2', text: LIST, values: none },
  '/W9': {
    name: 'w9',
    text: `${edgesOf(CARD)}
      SELECT '{"data":{"viewer":' || (SELECT row_to_json(v)::text FROM (
          SELECT id, name, (SELECT coalesce(json_agg(l), '[]') FROM (
            SELECT id, title FROM posts WHERE author_id = users.id ORDER BY created_at DESC, id DESC LIMIT 3) l) AS latest
          FROM users WHERE id = $1) v)
        || ',"feed":' || ${connection('p', 'e', 20)} || '}}' AS json FROM e`,
    values: ({ authorId }) => [authorId],
  },
};

/**
 * The post of W4, and its response under the key of the request: both or, where somebody has the key already, neither,
 * and no row comes back.
 */
export const KEYED: ResponseData = {
  name: 'w7',
  text: `WITH answer AS (
      SELECT id, json_build_object('data', json_build_object('createPost', json_build_object('id', id, 'title', $2::text)))::text AS json
      FROM gen_random_uuid() AS id),
    key AS (
      INSERT INTO idempotency_keys (user_id, key_hash, fingerprint, status, body)
      SELECT $1, $5, $6, 200, convert_to(json, 'UTF8') FROM answer
      ON CONFLICT (user_id, key_hash) DO NOTHING RETURNING user_id),
    post AS (
      INSERT INTO posts (id, author_id, title, body, slug)
      SELECT answer.id, key.user_id, $2, $3, ${freeSlug('$4')} FROM answer, key RETURNING id)
    SELECT json FROM answer, post`,
  values: post,
};

/** The response that is stored under a key, for a request with the same content. */
export const STORED: ResponseData = {
  name: 'w7_stored',
  text: `SELECT convert_from(body, 'UTF8') AS json FROM idempotency_keys
    WHERE user_id = $1 AND key_hash = $2 AND fingerprint = $3`,
  values: ({ authorId }) => [authorId],
};
