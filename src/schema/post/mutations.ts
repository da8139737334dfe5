import type { Principal } from '../../auth/principal.ts';
import { type Statement, statement } from '../../database/statement.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { principalOf, unitOfWorkOf } from '../../engine/core/context.ts';
import { checkText, lengthOf, parseId } from '../../engine/core/input.ts';
import type { LockKind, NamedRow } from '../../engine/core/mutation-plugin.ts';
import { type Insert, insertStatement, type TimestampedRow } from '../../engine/core/single-statement.ts';
import { selectList } from '../../engine/queries/entity.ts';
import { badInput, forbidden, notFound } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { ContentLimits } from '../content-limits.ts';
import { POST_CREATED, POST_DELETED, POST_UPDATED } from '../event-kinds.ts';
import {
  auditModeration,
  type Changed,
  checkVersion,
  type IfVersion,
  NEW_VERSION,
  versionArgument,
} from '../shared-arguments.ts';
import { postQueue, postQueues } from './queue.ts';
import { type PostRow, type PostTypes, postEntity } from './type.ts';

const INSERT = 'INSERT INTO posts (id, title, body, author_id) SELECT $1::uuid, $2, $3, $4::uuid';

/** One statement inserts the post and its event, because this write is the most frequent. */
const INSERT_POST = insertStatement('post_insert', INSERT, {
  columns: ['author_id'],
  parts: { event: POST_CREATED.append },
});

const INSERT_TAGGED_POST = insertStatement('post_insert_tagged', INSERT, {
  columns: ['author_id'],
  parts: {
    tag: (post) => `INSERT INTO tags (post_id, name, position, created_at)
    SELECT ${post}.id, given.name, given.position, ${post}.created_at
    FROM ${post}, unnest($5::text[]) WITH ORDINALITY AS given(name, position)`,
    event: POST_CREATED.append,
  },
});

/** Null parameters change nothing. If `differs` is false, no event is appended and no row is returned. */
const changePost = (label: string, differs: string, parts = '') =>
  statement<Changed>(
    label,
    `WITH changed AS (UPDATE posts SET title = coalesce($2, title), body = coalesce($3, body), ${NEW_VERSION}
     WHERE id = $1 AND (${differs}) RETURNING id, author_id, created_at, updated_at, version),
   event AS (${POST_UPDATED.append('changed')})${parts}
   SELECT updated_at AS "updatedAt", version FROM changed`,
  );
const CHANGE_POST = changePost('post_change', 'title <> $2 OR body <> $3');

/** Tags have the timestamp of their post, because the lists by tag are sorted by the post's timestamp. */
const CHANGE_TAGGED_POST = changePost(
  'post_change_tagged',
  'title <> $2 OR body <> $3 OR ARRAY(SELECT name FROM tags WHERE post_id = $1 ORDER BY position) <> $4::text[]',
  `,
   gone AS (DELETE FROM tags USING changed WHERE post_id = changed.id AND name <> ALL($4::text[])),
   tagged AS (INSERT INTO tags (post_id, name, position, created_at)
     SELECT changed.id, given.name, given.position, changed.created_at
     FROM changed, unnest($4::text[]) WITH ORDINALITY AS given(name, position)
     ON CONFLICT (post_id, name) DO UPDATE SET position = excluded.position, created_at = excluded.created_at)`,
);

/**
 * Prevents changes of the post between check and write. The lock is no stronger than the lock of the write,
 * and other transactions can still insert references to the post.
 */
const LOCK_TO_CHANGE = statement<PostRow>(
  'post_lock',
  `SELECT ${selectList(postEntity)} FROM posts t WHERE t.id = $1 FOR NO KEY UPDATE`,
);

async function lockPost(work: UnitOfWork, id: string): Promise<PostRow | undefined> {
  const [, [post]] = await work.queryInOrder(postQueue(id), { statement: LOCK_TO_CHANGE, values: [id] });
  return post;
}

interface Deleted {
  readonly allowed: boolean;
  readonly authorId: string;
  readonly version: number;
  readonly deleted: boolean;
}

/** A null author or version matches every post. No row is returned if the post does not exist. */
const DELETE_POST = statement<Deleted>(
  'post_delete',
  `WITH post AS (SELECT id, author_id, version, coalesce(author_id = $2::uuid, true) AS allowed FROM posts WHERE id = $1 FOR UPDATE),
   gone AS (DELETE FROM posts USING post
     WHERE posts.id = post.id AND post.allowed AND coalesce(post.version = $3::int, true) RETURNING posts.id, posts.author_id),
   event AS (${POST_DELETED.append('gone')})
   SELECT post.allowed, post.author_id AS "authorId", post.version, gone.id IS NOT NULL AS deleted FROM post LEFT JOIN gone ON true`,
);

/** The contract guarantees this rule (contract: permissions). */
function mayChangePost(principal: Principal, post: { readonly authorId: string }): boolean {
  return principal.userId === post.authorId || principal.role === 'admin';
}

function checkTags(
  tags: readonly string[],
  { maxTags, tag: rule }: ContentLimits['post'],
): readonly string[] {
  if (tags.length > maxTags)
    throw badInput('tags', `must contain at most ${maxTags} tags, but contains ${tags.length}.`);
  for (const tag of tags) checkText('tags', tag, rule);
  if (new Set(tags).size < tags.length) throw badInput('tags', 'must not contain duplicates.');
  return tags;
}

interface NewPost {
  readonly title: string;
  readonly body: string;
  readonly tags: readonly string[];
}

export function insertPost(
  { userId: authorId }: Pick<Principal, 'userId'>,
  { title, body, tags }: NewPost,
  limits: ContentLimits['post'],
): Insert<Omit<PostRow, keyof TimestampedRow>> {
  const id = newId();
  const values = [
    id,
    checkText('title', title, limits.title),
    checkText('body', body, limits.body),
    authorId,
  ];
  const row = { id, title, body, authorId, commentCount: 0, version: 1 };
  return checkTags(tags, limits).length === 0
    ? { statement: INSERT_POST, values, row }
    : { statement: INSERT_TAGGED_POST, values: [...values, [...tags]], row };
}

async function createPost(
  work: UnitOfWork,
  principal: Principal,
  post: NewPost,
  limits: ContentLimits['post'],
): Promise<PostRow> {
  const { statement: insert, values, row } = insertPost(principal, post, limits);
  const [inserted] = await work.query(insert.plain, values);
  if (inserted === undefined) throw new Error('the inserted post was not returned');
  return { ...row, ...inserted, updatedAt: inserted.createdAt };
}

/** Absent and null fields keep their values. */
type PostChanges = { readonly [Field in keyof NewPost]?: NewPost[Field] | null | undefined } & {
  readonly ifVersion?: IfVersion;
};

async function updatePost(
  work: UnitOfWork,
  principal: Principal,
  id: string | number,
  changes: PostChanges,
  limits: ContentLimits['post'],
): Promise<PostRow> {
  const { title, body, tags, ifVersion } = changes;
  if (title != null) checkText('title', title, limits.title);
  if (body != null) checkText('body', body, limits.body);
  if (tags != null) checkTags(tags, limits);
  const postId = parseId(id);
  const post = postId === undefined ? undefined : await lockPost(work, postId);
  if (post === undefined) throw notFound('Post', id);
  if (!mayChangePost(principal, post))
    throw forbidden(`Only its author and admins can change post "${post.id}".`);
  checkVersion('Post', post, ifVersion);
  if (title == null && body == null && tags == null) return post;
  const values = [post.id, title ?? null, body ?? null];
  const [changed] =
    tags == null
      ? await work.query(CHANGE_POST, values)
      : await work.query(CHANGE_TAGGED_POST, [...values, tags]);
  if (changed !== undefined) await auditModeration(work, principal, 'updatePost', post);
  return { ...post, title: title ?? post.title, body: body ?? post.body, ...changed };
}

async function deletePost(
  work: UnitOfWork,
  principal: Principal,
  id: string | undefined,
  ifVersion: IfVersion,
): Promise<boolean> {
  if (id === undefined) return false;
  const author = principal.role === 'admin' ? null : principal.userId;
  const values = [id, author, ifVersion ?? null];
  const [, [found]] = await work.queryInOrder(postQueue(id), { statement: DELETE_POST, values });
  if (found === undefined) return false;
  if (!found.allowed) throw forbidden(`Only its author and admins can delete post "${id}".`);
  checkVersion('Post', { id, version: found.version }, ifVersion);
  if (found.deleted) await auditModeration(work, principal, 'deletePost', { id, ...found });
  return found.deleted;
}

const COMMENT = 'comment';

/** Locks posts in the order of their ids. A comment's id stands for its post, which never changes. */
const lockPosts = (strength: string): Statement<{ id: string }> =>
  statement(
    'posts_lock',
    `SELECT id FROM posts WHERE id = ANY(ARRAY(
       SELECT unnest($1::uuid[]) UNION SELECT post_id FROM comments WHERE id = ANY($2::uuid[])))
     ORDER BY id ${strength}`,
  );
const TO_CHANGE = lockPosts('FOR NO KEY UPDATE');
const TO_DELETE = lockPosts('FOR UPDATE');

/**
 * The lock of a post protects its columns, tags, comments and comment count. All posts get the strongest lock
 * that any of them needs, so that no lock is upgraded later.
 */
const POSTS: LockKind = {
  rank: 1,
  async take(work, rows) {
    const idsOf = (kind: string | undefined) =>
      rows.flatMap(({ id, below }) => (id === undefined || below !== kind ? [] : [id]));
    const values = [idsOf(undefined), idsOf(COMMENT)] as const;
    const lock = rows.some(({ deleted }) => deleted) ? TO_DELETE : TO_CHANGE;
    await work.queryInOrder(postQueues(...values), { statement: lock, values });
  },
};

export const postToChange = (id: string | undefined): NamedRow => ({ kind: POSTS, id });
const postToDelete = (id: string | undefined): NamedRow => ({ kind: POSTS, id, deleted: true });
export const postOfComment = (id: string | undefined): NamedRow => ({ kind: POSTS, id, below: COMMENT });

/** graphql-js has coerced these arguments, but a single-statement mutation gets them without types. */
const newPost = ({ title, body, tags }: Readonly<Record<string, unknown>>): NewPost => ({
  title: String(title),
  body: String(body),
  tags: Array.isArray(tags) ? tags.map(String) : [],
});

export function definePostMutations(
  { builder }: SchemaToolkit,
  { Post }: PostTypes,
  limits: ContentLimits['post'],
): void {
  const ofTags = `At most ${limits.maxTags} tags of ${lengthOf(limits.tag)} each, without duplicates.`;
  builder.mutationFields((t) => ({
    createPost: t.field({
      type: Post,
      scope: 'posts:write',
      singleStatement: (args, context) => insertPost(principalOf(context), newPost(args), limits),
      description: 'Creates a post by the caller and publishes it to `postCreated`.',
      args: {
        title: t.arg.string({
          required: true,
          description: `${lengthOf(limits.title)}, with a visible character.`,
        }),
        body: t.arg.string({ required: true, description: `${lengthOf(limits.body)}.` }),
        tags: t.arg.stringList({ description: `${ofTags} No tags if absent.` }),
      },
      resolve: (_root, args, context) =>
        createPost(unitOfWorkOf(context), principalOf(context), newPost(args), limits),
    }),
    updatePost: t.field({
      type: Post,
      scope: 'posts:write',
      locks: ({ id }) => [postToChange(parseId(String(id)))],
      description:
        'Changes the given fields of a post. Absent and null fields keep their value, and equal values change nothing. Only its author and admins can. NOT_FOUND if the post does not exist.',
      args: {
        id: t.arg.id({ required: true, description: 'The post’s id.' }),
        title: t.arg.string({ description: `${lengthOf(limits.title)}, with a visible character.` }),
        body: t.arg.string({ description: `${lengthOf(limits.body)}.` }),
        tags: t.arg.stringList({ description: `${ofTags} Replaces all existing tags.` }),
        ifVersion: versionArgument(t.arg, 'post'),
      },
      resolve: (_root, { id, ...changes }, context) =>
        updatePost(unitOfWorkOf(context), principalOf(context), id, changes, limits),
    }),
    deletePost: t.boolean({
      scope: 'posts:write',
      locks: ({ id }) => [postToDelete(parseId(String(id)))],
      description:
        'Deletes a post and its comments. Only its author and admins can. True if the post existed, false if it did not.',
      args: {
        id: t.arg.id({ required: true, description: 'The post’s id.' }),
        ifVersion: versionArgument(t.arg, 'post'),
      },
      resolve: (_root, { id, ifVersion }, context) =>
        deletePost(unitOfWorkOf(context), principalOf(context), parseId(id), ifVersion),
    }),
  }));
}
