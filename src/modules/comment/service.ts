import type { Principal } from '../../auth/principal.ts';
import { forbidden, notFound } from '../../graphql/errors.ts';
import { checkText } from '../../graphql/input.ts';
import { statement } from '../../platform/db/statement.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { newId } from '../../platform/uuid.ts';
import type { Rules } from '../rules.ts';
import type { CommentRow } from './type.ts';

/**
 * Locks the post until the unit of work ends, with the lock that updating its comment count takes anyway. All
 * commenters would share a weaker lock, and a deletion might wait for ever.
 */
const HOLD_POST = statement<{ id: string }>(
  'post_hold',
  'SELECT id FROM posts WHERE id = $1 FOR NO KEY UPDATE',
);

/**
 * Under the lock of the post, each comment is dated after the one before it: whoever has read the comments up to the last
 * and goes on from its cursor misses none. The begin of a transaction, which may have waited, is no such date.
 */
const INSERT_COMMENT = statement<Pick<CommentRow, 'createdAt'>>(
  'comment_insert',
  `INSERT INTO comments (id, body, post_id, author_id, created_at)
   SELECT $1, $2, $3, $4, greatest(clock_timestamp(), max(created_at) + interval '1 millisecond') FROM comments WHERE post_id = $3
   RETURNING created_at AS "createdAt"`,
);

/** Locks the post before the comment, as deleting a post does, so that the two cannot deadlock. */
const LOCK_POST_OF_COMMENT = statement<{ id: string; authorId: string; postAuthorId: string }>(
  'comment_lock_post',
  `SELECT c.id, c.author_id AS "authorId", p.author_id AS "postAuthorId"
   FROM comments c JOIN posts p ON p.id = c.post_id WHERE c.id = $1 FOR NO KEY UPDATE OF p`,
);

/** Only its author, the post's author and admins may delete a comment (contract section 3). */
function mayDeleteComment(
  principal: Principal,
  comment: { readonly authorId: string; readonly postAuthorId: string },
): boolean {
  return (
    principal.userId === comment.authorId ||
    principal.userId === comment.postAuthorId ||
    principal.role === 'admin'
  );
}

/** Creates a comment. Throws BAD_USER_INPUT, NOT_FOUND if the post does not exist, DatabaseError. */
export async function createComment(
  work: UnitOfWork,
  principal: Principal,
  postId: string | undefined,
  body: string,
  rules: Rules['comment'],
): Promise<CommentRow> {
  checkText('body', body, rules.body);
  const post = postId === undefined ? undefined : (await work.query(HOLD_POST, [postId]))[0];
  if (post === undefined) throw notFound('post');
  const comment = { id: newId(), body, postId: post.id, authorId: principal.userId };
  const [made] = await work.query(INSERT_COMMENT, [comment.id, body, post.id, principal.userId]);
  if (made === undefined) throw new Error('the inserted comment was not returned');
  return { ...comment, ...made };
}

/** Deletes a comment. False if the comment does not exist. Throws FORBIDDEN, DatabaseError. */
export async function deleteComment(
  work: UnitOfWork,
  principal: Principal,
  id: string | undefined,
): Promise<boolean> {
  const comment = id === undefined ? undefined : (await work.query(LOCK_POST_OF_COMMENT, [id]))[0];
  if (comment === undefined) return false;
  if (!mayDeleteComment(principal, comment))
    throw forbidden('Only the comment’s author, the post’s author and admins may delete a comment.');
  const { count } = await work.withPrisma((prisma) =>
    prisma.comment.deleteMany({ where: { id: comment.id } }),
  );
  return count > 0;
}
