import type { Loader } from 'mercurius';
import type { QueryResultRow } from 'pg';
import { type CommentRow, type DatedPostRow, type PostRow, rows, type UserRow } from './database.ts';
import { connectionOf, decodeCursor, type PageArguments } from './pagination.ts';

const FIND_USERS = 'SELECT id, name FROM users WHERE id = ANY($1::uuid[])';
const POSTS_OF = `SELECT p.* FROM unnest($1::uuid[]) AS a(id), LATERAL (
    SELECT id, title, author_id AS "authorId", comment_count AS "commentCount" FROM posts
    WHERE author_id = a.id ORDER BY created_at DESC, id DESC LIMIT $2) p`;
const COMMENT = 'id, body, author_id AS "authorId", post_id AS "postId"';
const COMMENTS_OF = `SELECT c.* FROM unnest($1::uuid[]) AS p(id), LATERAL (
    SELECT ${COMMENT} FROM comments WHERE post_id = p.id ORDER BY created_at, id LIMIT $2) c`;
const FIRST_COMMENTS_OF = `SELECT c.* FROM unnest($1::uuid[]) AS p(id), LATERAL (
    SELECT ${COMMENT}, created_at AS "createdAt" FROM comments
    WHERE post_id = p.id ORDER BY created_at, id LIMIT $2) c`;
const COMMENTS_OF_AFTER = `SELECT c.* FROM unnest($1::uuid[]) AS p(id), LATERAL (
    SELECT ${COMMENT}, created_at AS "createdAt" FROM comments
    WHERE post_id = p.id AND (created_at, id) > ($3, $4) ORDER BY created_at, id LIMIT $2) c`;
const TAGS_OF = `SELECT post_id AS "postId", name FROM tags WHERE post_id = ANY($1::uuid[])
  ORDER BY post_id, position`;

interface Query<Parent, Arguments> {
  readonly obj: Parent;
  readonly params: Arguments;
}

const author: Loader<{ readonly authorId: string }> = async (queries) => {
  const ids = [...new Set(queries.map(({ obj }) => obj.authorId))];
  const found = await rows<UserRow>('users', FIND_USERS, [ids]);
  const byId = new Map(found.map((user) => [user.id, user]));
  return queries.map(({ obj }) => byId.get(obj.authorId));
};

/**
 * Lists of many parents. Items of one field share their arguments unless the operation has the field twice: then each
 * set of them is a statement.
 */
async function listsOf<Row extends QueryResultRow, Arguments>(
  queries: readonly Query<{ readonly id: string }, Arguments>[],
  nameOf: (given: Arguments) => string,
  read: (ids: readonly string[], given: Arguments) => Promise<Row[]>,
  parentOf: (row: Row) => string,
): Promise<Row[][]> {
  const sets = new Map(queries.map(({ params }) => [nameOf(params), params]));
  const lists = new Map<string, Row[]>();
  for (const [name, given] of sets) {
    const ids = new Set(queries.filter(({ params }) => nameOf(params) === name).map(({ obj }) => obj.id));
    for (const id of ids) lists.set(`${id} ${name}`, []);
    for (const row of await read([...ids], given)) lists.get(`${parentOf(row)} ${name}`)?.push(row);
  }
  return queries.map(({ obj, params }) => lists.get(`${obj.id} ${nameOf(params)}`) ?? []);
}

const byLimit = ({ limit }: { readonly limit: number }) => String(limit);
const postOf = ({ postId }: { readonly postId: string }) => postId;

const posts: Loader<UserRow, { limit: number }> = (queries) =>
  listsOf(
    queries,
    byLimit,
    (ids, { limit }) => rows<PostRow>('posts_of', POSTS_OF, [ids, limit]),
    ({ authorId }) => authorId,
  );

const comments: Loader<PostRow, { limit: number }> = (queries) =>
  listsOf(
    queries,
    byLimit,
    (ids, { limit }) => rows<CommentRow>('comments_of', COMMENTS_OF, [ids, limit]),
    postOf,
  );

const commentsConnection: Loader<DatedPostRow, PageArguments> = async (queries) => {
  const lists = await listsOf(
    queries,
    ({ first, after }) => `${first} ${after ?? ''}`,
    (ids, { first, after }) =>
      after == null
        ? rows<CommentRow>('first_comments_of', FIRST_COMMENTS_OF, [ids, first + 1])
        : rows<CommentRow>('comments_of_after', COMMENTS_OF_AFTER, [ids, first + 1, ...decodeCursor(after)]),
    postOf,
  );
  return lists.map((list, index) => connectionOf(list, queries[index]?.params.first ?? 0));
};

const tags: Loader<PostRow> = async (queries) => {
  const read = (ids: readonly string[]) => rows<{ postId: string; name: string }>('tags_of', TAGS_OF, [ids]);
  const lists = await listsOf(queries, () => '', read, postOf);
  return lists.map((list) => list.map(({ name }) => name));
};

export const loaders = {
  Post: { author, comments, commentsConnection, tags },
  Comment: { author },
  User: { posts },
};
