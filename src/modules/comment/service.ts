import type { Principal } from '../../auth/principal.ts';
import { forbidden, notFound } from '../../graphql/errors.ts';
import { statement } from '../../platform/db/statement.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { newId } from '../../platform/uuid.ts';
import { mayDeleteComment } from './policy.ts';
import { checkBody } from './rules.ts';
import type { CommentRow } from './type.ts';

/**
 * Keeps the post until the unit of work ends, with the lock that counting its comments takes of it anyway. A weaker one
 * would be shared by all who comment, and they would never let pass who wants to delete it.
 */
const HOLD_POST = statement<{ id: string }>(
  'post_hold',
  'SELECT id FROM posts WHERE id = $1 FOR NO KEY UPDATE',
);

/** Dated by the database: Prisma's client would take the clock of this machine. */
const INSERT_COMMENT = statement<Pick<CommentRow, 'createdAt'>>(
  'comment_insert',
  `INSERT INTO comments (id, body, post_id, author_id) VALUES ($1, $2, $3, $4) RETURNING created_at AS "createdAt"`,
);

/** Locks the post and not the comment: the order that deleting a post takes its locks in, so that the two cannot deadlock. */
const LOCK_POST_OF_COMMENT = statement<{ id: string; authorId: string; postAuthorId: string }>(
  'comment_lock_post',
  `SELECT c.id, c.author_id AS "authorId", p.author_id AS "postAuthorId"
   FROM comments c JOIN posts p ON p.id = c.post_id WHERE c.id = $1 FOR NO KEY UPDATE OF p`,
);

/** Comments on a post. Throws BAD_USER_INPUT, NOT_FOUND where there is no such post, DatabaseError. */
export async function createComment(
  work: UnitOfWork,
  principal: Principal,
  postId: string | undefined,
  body: string,
): Promise<CommentRow> {
  checkBody(body);
  const post = postId === undefined ? undefined : (await work.query(HOLD_POST, [postId]))[0];
  if (post === undefined) throw notFound('post');
  const comment = { id: newId(), body, postId: post.id, authorId: principal.userId };
  const [made] = await work.query(INSERT_COMMENT, [comment.id, body, post.id, principal.userId]);
  if (made === undefined) throw new Error('the inserted comment was not returned');
  return { ...comment, ...made };
}

/** Deletes a comment. False where there is no such comment (any more). Throws FORBIDDEN, DatabaseError. */
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
