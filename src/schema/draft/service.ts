import { LOCK_ACCOUNT } from '../../auth/accounts.ts';
import type { Principal } from '../../auth/principal.ts';
import { statement } from '../../database/statement.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import { checkText, parseId } from '../../engine/core/input.ts';
import { selectList } from '../../engine/queries/entity.ts';
import { ApiError, notFound } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { ContentLimits } from '../content-limits.ts';
import { checkTags, createPost } from '../post/service.ts';
import { checkSlug } from '../post/slug.ts';
import type { PostRow } from '../post/type.ts';
import { type Changed, checkVersion, type IfVersion } from '../shared-arguments.ts';
import { type DraftRow, draftEntity } from './type.ts';

/**
 * Each change has a later timestamp than all earlier changes of the account's drafts, so that the order of drafts is
 * exact. The transaction has locked the account, so that the limit is exact, too.
 */
const NOW = "greatest(clock_timestamp(), max(updated_at) + interval '1 millisecond')";

const INSERT = statement<Pick<DraftRow, 'createdAt' | 'updatedAt'>>(
  'draft_insert',
  `INSERT INTO drafts (id, title, body, tags, slug, author_id, created_at, updated_at)
   SELECT $1::uuid, $2, $3, $4::text[], $5, $6::uuid, n.now, n.now
   FROM (SELECT ${NOW} AS now, count(*) AS count FROM drafts WHERE author_id = $6) AS n WHERE n.count < $7::int
   RETURNING created_at AS "createdAt", updated_at AS "updatedAt"`,
);

/** Drafts of other accounts do not exist for the caller. */
const FIND = statement<DraftRow>(
  'draft_find',
  `SELECT ${selectList(draftEntity)} FROM drafts t WHERE t.id = $1 AND t.author_id = $2`,
);

const CHANGE = statement<Changed>(
  'draft_change',
  `UPDATE drafts SET title = $2, body = $3, tags = $4::text[], slug = $5, version = version + 1,
     updated_at = (SELECT ${NOW} FROM drafts WHERE author_id = $6)
   WHERE id = $1 RETURNING updated_at AS "updatedAt", version`,
);

const DELETE = statement<never>('draft_delete', 'DELETE FROM drafts WHERE id = $1');

/** Absent and null fields keep their values. An empty slug removes the slug. */
export interface DraftFields {
  readonly title?: string | null | undefined;
  readonly body?: string | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
  readonly slug?: string | null | undefined;
}

/**
 * A draft may be incomplete. The rules of posts apply when the draft is published.
 * @returns the fields that are given
 * @throws {ApiError} BAD_USER_INPUT
 */
function checkFields({ title, body, tags, slug }: DraftFields, limits: ContentLimits['post']) {
  return {
    ...(title != null && { title: checkText('title', title, { min: 0, max: limits.title.max }) }),
    ...(body != null && { body: checkText('body', body, { min: 0, max: limits.body.max }) }),
    ...(tags != null && { tags: [...checkTags(tags, limits)] }),
    ...(slug != null && { slug: slug === '' ? null : checkSlug(slug, limits.slug) }),
  };
}

/**
 * @throws {ApiError} BAD_USER_INPUT
 * @throws {DatabaseError}
 */
export async function createDraft(
  work: UnitOfWork,
  { userId: authorId }: Principal,
  given: DraftFields,
  { post: limits, draft: { maxPerAccount } }: ContentLimits,
): Promise<DraftRow> {
  const fields = { title: '', body: '', tags: [], slug: null, ...checkFields(given, limits) };
  const { title, body, tags, slug } = fields;
  const id = newId();
  const [, [inserted]] = await work.queryInOrder(
    { statement: LOCK_ACCOUNT, values: [authorId] },
    { statement: INSERT, values: [id, title, body, tags, slug, authorId, maxPerAccount] },
  );
  if (inserted !== undefined) return { id, ...fields, authorId, version: 1, ...inserted };
  throw new ApiError(
    'BAD_USER_INPUT',
    `An account can have at most ${maxPerAccount} drafts. Publish or delete a draft first.`,
  );
}

/** @throws {ApiError} CONFLICT */
async function findDraft(
  work: UnitOfWork,
  { userId }: Principal,
  target: string | number,
  ifVersion: IfVersion,
): Promise<DraftRow | undefined> {
  const id = parseId(target);
  if (id === undefined) return undefined;
  const [, [draft]] = await work.queryInOrder(
    { statement: LOCK_ACCOUNT, values: [userId] },
    { statement: FIND, values: [id, userId] },
  );
  if (draft !== undefined) checkVersion('Draft', draft, ifVersion);
  return draft;
}

/**
 * @throws {ApiError} BAD_USER_INPUT, NOT_FOUND, CONFLICT
 * @throws {DatabaseError}
 */
export async function updateDraft(
  work: UnitOfWork,
  principal: Principal,
  target: string | number,
  { ifVersion, ...given }: DraftFields & { readonly ifVersion?: IfVersion },
  limits: ContentLimits['post'],
): Promise<DraftRow> {
  const changes = checkFields(given, limits);
  const draft = await findDraft(work, principal, target, ifVersion);
  if (draft === undefined) throw notFound('Draft', target);
  const next = { ...draft, ...changes };
  if (JSON.stringify(next) === JSON.stringify(draft)) return draft;
  const { id, title, body, tags, slug, authorId } = next;
  const [changed] = await work.query(CHANGE, [id, title, body, tags, slug, authorId]);
  return { ...next, ...changed };
}

/**
 * @returns false if the account has no such draft
 * @throws {ApiError} CONFLICT
 * @throws {DatabaseError}
 */
export async function deleteDraft(
  work: UnitOfWork,
  principal: Principal,
  target: string | number,
  ifVersion: IfVersion,
): Promise<boolean> {
  const draft = await findDraft(work, principal, target, ifVersion);
  if (draft === undefined) return false;
  await work.query(DELETE, [draft.id]);
  return true;
}

/**
 * Creates the post and deletes the draft. The transaction does both or neither.
 * @throws {ApiError} BAD_USER_INPUT, NOT_FOUND, CONFLICT
 * @throws {DatabaseError}
 */
export async function publishDraft(
  work: UnitOfWork,
  principal: Principal,
  target: string | number,
  ifVersion: IfVersion,
  limits: ContentLimits['post'],
): Promise<PostRow> {
  const draft = await findDraft(work, principal, target, ifVersion);
  if (draft === undefined) throw notFound('Draft', target);
  const post = await createPost(work, principal, draft, limits);
  await work.query(DELETE, [draft.id]);
  return post;
}
