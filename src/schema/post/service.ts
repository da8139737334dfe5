import type { Principal } from '../../auth/principal.ts';
import { DatabaseError, violatedUniqueIndex } from '../../database/errors.ts';
import { statement } from '../../database/statement.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import { checkText, parseId } from '../../engine/core/input.ts';
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
  mayChange,
  NEW_VERSION,
} from '../shared-arguments.ts';
import { postQueue } from './queue.ts';
import { checkSlug, chooseSlug, SLUG_INDEX, SLUG_TAKEN, slugCandidates, slugTaken } from './slug.ts';
import { type PostRow, postEntity } from './type.ts';

const INSERT =
  'INSERT INTO posts (id, title, body, author_id, slug) SELECT $1::uuid, $2, $3, $4::uuid, chosen.slug';

const insertPostWith = (label: string, parts: Readonly<Record<string, (post: string) => string>>) =>
  insertStatement<{ readonly slug: string }>(label, INSERT, {
    chosen: chooseSlug('$5'),
    columns: ['author_id'],
    returned: ['slug'],
    parts: { ...parts, event: POST_CREATED.append },
  });

/** One statement inserts the post and its event, because this write is the most frequent. */
const INSERT_POST = insertPostWith('post_insert', {});

const INSERT_TAGGED_POST = insertPostWith('post_insert_tagged', {
  tag: (post) => `INSERT INTO tags (post_id, name, position, created_at)
    SELECT ${post}.id, given.name, given.position, ${post}.created_at
    FROM ${post}, unnest($6::text[]) WITH ORDINALITY AS given(name, position)`,
});

/** Null parameters change nothing. If `differs` is false, no event is appended and no row is returned. */
const changePost = (label: string, differs: string, parts = '') =>
  statement<Changed>(
    label,
    `WITH changed AS (UPDATE posts SET title = coalesce($2, title), body = coalesce($3, body), slug = coalesce($4, slug),
       ${NEW_VERSION}
     WHERE id = $1 AND (${differs}) RETURNING id, author_id, created_at, updated_at, version),
   event AS (${POST_UPDATED.append('changed')})${parts}
   SELECT updated_at AS "updatedAt", version FROM changed`,
  );
const DIFFERS = 'title <> $2 OR body <> $3 OR slug IS DISTINCT FROM coalesce($4, slug)';
const CHANGE_POST = changePost('post_change', DIFFERS);

/** Tags have the timestamp of their post, because the lists by tag are sorted by the post's timestamp. */
const CHANGE_TAGGED_POST = changePost(
  'post_change_tagged',
  `${DIFFERS} OR ARRAY(SELECT name FROM tags WHERE post_id = $1 ORDER BY position) <> $5::text[]`,
  `,
   gone AS (DELETE FROM tags USING changed WHERE post_id = changed.id AND name <> ALL($5::text[])),
   tagged AS (INSERT INTO tags (post_id, name, position, created_at)
     SELECT changed.id, given.name, given.position, changed.created_at
     FROM changed, unnest($5::text[]) WITH ORDINALITY AS given(name, position)
     ON CONFLICT (post_id, name) DO UPDATE SET position = excluded.position, created_at = excluded.created_at)`,
);

/** The last post that had a slug has the redirect. An id that stood in for a slug needs no row. */
const KEEP_FORMER_SLUG = statement<never>(
  'post_former_slug',
  `INSERT INTO former_slugs (slug, post_id) SELECT $1, $2::uuid WHERE $1 <> $2::text
   ON CONFLICT (slug) DO UPDATE SET post_id = excluded.post_id`,
);

/**
 * Prevents changes of the post between check and write. The lock is no stronger than the lock of the write,
 * and other transactions can still insert references to the post, unless the slug changes.
 */
const lockToChange = (strength: string) =>
  statement<PostRow>(
    'post_lock',
    `SELECT ${selectList(postEntity)} FROM posts t WHERE t.id = $1 ${strength}`,
  );
const LOCK_TO_CHANGE = lockToChange('FOR NO KEY UPDATE');
/** PostgreSQL takes this lock for a change of a column with a unique index. */
const LOCK_TO_CHANGE_KEY = lockToChange('FOR UPDATE');

async function lockPost(work: UnitOfWork, id: string, changesKey: boolean): Promise<PostRow | undefined> {
  const lock = changesKey ? LOCK_TO_CHANGE_KEY : LOCK_TO_CHANGE;
  const [, [post]] = await work.queryInOrder(postQueue(id), { statement: lock, values: [id] });
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

export function checkTags(
  tags: readonly string[],
  { maxTags, tag: rule }: ContentLimits['post'],
): readonly string[] {
  if (tags.length > maxTags)
    throw badInput('tags', `must contain at most ${maxTags} tags, but contains ${tags.length}.`);
  for (const tag of tags) checkText('tags', tag, rule);
  if (new Set(tags).size < tags.length) throw badInput('tags', 'must not contain duplicates.');
  return tags;
}

export interface NewPost {
  readonly title: string;
  readonly body: string;
  readonly tags: readonly string[];
  /** Derived from the title if null. */
  readonly slug: string | null;
}

/**
 * Has all rules of a new post.
 * @param knowsSlug true if the response shows the slug before the database chooses one, so only the first slug is tried
 * @throws {ApiError} BAD_USER_INPUT
 */
export function insertPost(
  { userId: authorId }: Pick<Principal, 'userId'>,
  { title, body, tags, slug: given }: NewPost,
  limits: ContentLimits['post'],
  knowsSlug = false,
) {
  const id = newId();
  checkText('title', title, limits.title);
  checkText('body', body, limits.body);
  const [slug, ...others] =
    given === null ? slugCandidates(title, limits.slug) : [checkSlug(given, limits.slug)];
  const values = [id, title, body, authorId, knowsSlug ? [slug] : [slug, ...others]];
  const row = { id, title, body, slug, authorId, commentCount: 0, version: 1 };
  return (
    checkTags(tags, limits).length === 0
      ? { statement: INSERT_POST, values, row }
      : { statement: INSERT_TAGGED_POST, values: [...values, [...tags]], row }
  ) satisfies Insert<Omit<PostRow, keyof TimestampedRow>>;
}

const violatesSlug = (error: unknown): boolean => violatedUniqueIndex(error) === SLUG_INDEX;

/** @throws {DatabaseError} of kind `conflict` if another transaction takes the slug at the same time, so a retry helps */
export async function createPost(
  work: UnitOfWork,
  principal: Pick<Principal, 'userId'>,
  post: NewPost,
  limits: ContentLimits['post'],
): Promise<PostRow> {
  const { statement: insert, values, row } = insertPost(principal, post, limits);
  const [inserted] = await work.query(insert.plain, values).catch((error: unknown) => {
    throw violatesSlug(error) ? new DatabaseError('conflict', error) : error;
  });
  if (inserted !== undefined) return { ...row, ...inserted, updatedAt: inserted.createdAt };
  const { slug } = post;
  const [taken] = slug === null ? [] : await work.query(SLUG_TAKEN, [slug, row.id]);
  if (slug !== null && taken !== undefined) throw slugTaken(slug);
  throw new DatabaseError('conflict', new Error('another transaction is taking the slug'));
}

/** Absent and null fields keep their values. */
type PostChanges = { readonly [Field in keyof NewPost]?: NewPost[Field] | null | undefined } & {
  readonly ifVersion?: IfVersion;
};

export async function updatePost(
  work: UnitOfWork,
  principal: Principal,
  id: string | number,
  changes: PostChanges,
  limits: ContentLimits['post'],
): Promise<PostRow> {
  const { title, body, tags, slug, ifVersion } = changes;
  if (title != null) checkText('title', title, limits.title);
  if (body != null) checkText('body', body, limits.body);
  if (tags != null) checkTags(tags, limits);
  if (slug != null) checkSlug(slug, limits.slug);
  const postId = parseId(id);
  const post = postId === undefined ? undefined : await lockPost(work, postId, slug != null);
  if (post === undefined) throw notFound('Post', id);
  if (!mayChange(principal, post))
    throw forbidden(`Only its author and admins can change post "${post.id}".`);
  checkVersion('Post', post, ifVersion);
  if (title == null && body == null && tags == null && slug == null) return post;
  if (slug != null && (await work.query(SLUG_TAKEN, [slug, post.id])).length > 0) throw slugTaken(slug);
  const values = [post.id, title ?? null, body ?? null, slug ?? null];
  const [statement, given] = tags == null ? [CHANGE_POST, values] : [CHANGE_TAGGED_POST, [...values, tags]];
  const [changed] = await work.query(statement, given).catch((error: unknown) => {
    throw slug != null && violatesSlug(error) ? slugTaken(slug) : error;
  });
  if (changed === undefined) return post;
  if (slug != null && slug !== post.slug) await work.query(KEEP_FORMER_SLUG, [post.slug, post.id]);
  await auditModeration(work, principal, 'updatePost', post);
  return {
    ...post,
    title: title ?? post.title,
    body: body ?? post.body,
    slug: slug ?? post.slug,
    ...changed,
  };
}

export async function deletePost(
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
