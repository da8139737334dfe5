import type { Principal } from '../../auth/principal.ts';
import { statement } from '../../database/statement.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { principalOf, unitOfWorkOf } from '../../engine/core/context.ts';
import { checkText, lengthOf, parseId } from '../../engine/core/input.ts';
import { selectList } from '../../engine/queries/entity.ts';
import { forbidden, notFound } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { ContentLimits } from '../content-limits.ts';
import { COMMENT_CREATED, COMMENT_DELETED, COMMENT_UPDATED } from '../event-kinds.ts';
import { postOfComment, postToChange } from '../post/mutations.ts';
import { postQueue, postQueueOfComment } from '../post/queue.ts';
import {
  auditModeration,
  type Changed,
  checkVersion,
  type IfVersion,
  mayChange,
  NEW_VERSION,
  versionArgument,
} from '../shared-arguments.ts';
import { type CommentRow, type CommentTypes, commentEntity } from './type.ts';

/**
 * Takes the lock that the update of the comment count needs anyway. Commenters would share a weaker lock, and
 * a deletion might wait forever.
 */
const HOLD_POST = statement<{ id: string; authorId: string }>(
  'post_hold',
  'SELECT id, author_id AS "authorId" FROM posts WHERE id = $1 FOR NO KEY UPDATE',
);

/**
 * Under the lock of the post, each comment gets a later timestamp than the previous comment. So a client that
 * continues from its last cursor misses no comment. The start of the transaction is no correct timestamp,
 * because the transaction may have waited.
 */
const INSERT_COMMENT = statement<Pick<CommentRow, 'createdAt'>>(
  'comment_insert',
  `WITH inserted AS (INSERT INTO comments (id, body, post_id, author_id, created_at)
     SELECT $1, $2, $3, $4, greatest(clock_timestamp(), max(created_at) + interval '1 millisecond') FROM comments WHERE post_id = $3
     RETURNING id, post_id, created_at, $5::uuid AS post_author_id),
   event AS (${COMMENT_CREATED.append('inserted')})
   SELECT created_at AS "createdAt" FROM inserted`,
);

/** Locks the post before the comment, as a deletion of the post does, so that the two cannot deadlock. */
const LOCK_COMMENT = statement<CommentRow & { readonly postAuthorId: string }>(
  'comment_lock',
  `SELECT ${selectList(commentEntity)}, p.author_id AS "postAuthorId"
   FROM posts p JOIN comments t ON t.post_id = p.id WHERE t.id = $1 FOR NO KEY UPDATE OF p, t`,
);

async function lockPost(work: UnitOfWork, id: string) {
  const [, [post]] = await work.queryInOrder(postQueue(id), { statement: HOLD_POST, values: [id] });
  return post;
}

async function lockComment(work: UnitOfWork, id: string) {
  const lock = { statement: LOCK_COMMENT, values: [id] };
  const [, [comment]] = await work.queryInOrder(postQueueOfComment(id), lock);
  return comment;
}

const CHANGE_COMMENT = statement<Changed>(
  'comment_change',
  `WITH changed AS (UPDATE comments SET body = $2, ${NEW_VERSION} WHERE id = $1
     RETURNING id, post_id, updated_at, version, $3::uuid AS post_author_id),
   event AS (${COMMENT_UPDATED.append('changed')})
   SELECT updated_at AS "updatedAt", version FROM changed`,
);
const DELETE_COMMENT = statement<{ readonly deleted: number }>(
  'comment_delete',
  `WITH gone AS (DELETE FROM comments WHERE id = $1 RETURNING id, post_id, $2::uuid AS post_author_id)
   ${COMMENT_DELETED.append('gone')} RETURNING 1 AS deleted`,
);

async function createComment(
  work: UnitOfWork,
  principal: Principal,
  target: string | number,
  body: string,
  limits: ContentLimits['comment'],
): Promise<CommentRow> {
  checkText('body', body, limits.body);
  const postId = parseId(target);
  const post = postId === undefined ? undefined : await lockPost(work, postId);
  if (post === undefined) throw notFound('Post', target);
  const comment = { id: newId(), body, postId: post.id, authorId: principal.userId, version: 1 };
  const [made] = await work.query(INSERT_COMMENT, [
    comment.id,
    body,
    post.id,
    principal.userId,
    post.authorId,
  ]);
  if (made === undefined) throw new Error('the inserted comment was not returned');
  return { ...comment, ...made, updatedAt: made.createdAt };
}

async function updateComment(
  work: UnitOfWork,
  principal: Principal,
  id: string | number,
  { body, ifVersion }: { readonly body: string; readonly ifVersion?: IfVersion },
  limits: ContentLimits['comment'],
): Promise<CommentRow> {
  checkText('body', body, limits.body);
  const commentId = parseId(id);
  const comment = commentId === undefined ? undefined : await lockComment(work, commentId);
  if (comment === undefined) throw notFound('Comment', id);
  if (!mayChange(principal, comment))
    throw forbidden(`Only its author and admins can change comment "${comment.id}".`);
  checkVersion('Comment', comment, ifVersion);
  if (body === comment.body) return comment;
  const [changed] = await work.query(CHANGE_COMMENT, [comment.id, body, comment.postAuthorId]);
  await auditModeration(work, principal, 'updateComment', comment);
  return { ...comment, body, ...changed };
}

async function deleteComment(
  work: UnitOfWork,
  principal: Principal,
  id: string | undefined,
  ifVersion: IfVersion,
): Promise<boolean> {
  const comment = id === undefined ? undefined : await lockComment(work, id);
  if (comment === undefined) return false;
  // The post's author may only delete the comment (contract: permissions).
  if (!mayChange(principal, comment) && principal.userId !== comment.postAuthorId)
    throw forbidden(`Only its author, the author of the post and admins can delete comment "${comment.id}".`);
  checkVersion('Comment', comment, ifVersion);
  await work.query(DELETE_COMMENT, [comment.id, comment.postAuthorId]);
  // The author of a post does not moderate by deleting a comment on the post.
  if (principal.userId !== comment.postAuthorId)
    await auditModeration(work, principal, 'deleteComment', comment);
  return true;
}

export function defineCommentMutations(
  { builder }: SchemaToolkit,
  { Comment }: CommentTypes,
  limits: ContentLimits['comment'],
): void {
  builder.mutationFields((t) => ({
    createComment: t.field({
      type: Comment,
      scope: 'comments:write',
      locks: ({ postId }) => [postToChange(parseId(String(postId)))],
      description: 'Adds a comment to a post. NOT_FOUND if the post does not exist.',
      args: {
        postId: t.arg.id({ required: true, description: 'The id of the post to comment on.' }),
        body: t.arg.string({ required: true, description: `${lengthOf(limits.body)}.` }),
      },
      resolve: (_root, { postId, body }, context) =>
        createComment(unitOfWorkOf(context), principalOf(context), postId, body, limits),
    }),
    updateComment: t.field({
      type: Comment,
      scope: 'comments:write',
      locks: ({ id }) => [postOfComment(parseId(String(id)))],
      description:
        'Changes the body of a comment; an equal body changes nothing. Only the author of the comment and admins can. NOT_FOUND if the comment does not exist.',
      args: {
        id: t.arg.id({ required: true, description: 'The comment’s id.' }),
        body: t.arg.string({ required: true, description: `${lengthOf(limits.body)}.` }),
        ifVersion: versionArgument(t.arg),
      },
      resolve: (_root, { id, ...change }, context) =>
        updateComment(unitOfWorkOf(context), principalOf(context), id, change, limits),
    }),
    deleteComment: t.boolean({
      scope: 'comments:write',
      locks: ({ id }) => [postOfComment(parseId(String(id)))],
      description:
        'Deletes a comment. Only its author, the author of the post and admins can. True if the comment existed, false if it did not.',
      args: {
        id: t.arg.id({ required: true, description: 'The comment’s id.' }),
        ifVersion: versionArgument(t.arg),
      },
      resolve: (_root, { id, ifVersion }, context) =>
        deleteComment(unitOfWorkOf(context), principalOf(context), parseId(id), ifVersion),
    }),
  }));
}
