import { type Query, statement } from '../../database/statement.ts';

/** Distinguishes the queues of posts from other advisory locks. */
const QUEUE_SEED = 20_261_129;
const joinQueue = (id: string) => `SELECT pg_advisory_xact_lock(uuid_hash_extended(${id}, ${QUEUE_SEED}))`;
const JOIN_POST = statement<unknown>('post_queue', joinQueue('$1::uuid'));
const JOIN_POST_OF_COMMENT = statement<unknown>(
  'post_queue_of_comment',
  `${joinQueue('post_id')} FROM comments WHERE id = $1`,
);
const JOIN_POSTS = statement<unknown>(
  'post_queues',
  `${joinQueue('id')} FROM (SELECT unnest($1::uuid[]) AS id
     UNION SELECT post_id FROM comments WHERE id = ANY($2::uuid[]) ORDER BY id) AS posts`,
);

/**
 * Waits until no other transaction changes the post, its tags or its comments. A transaction that waits for a
 * row lock already has its id, and the ids order the events. Another transaction with a later id could lock
 * the row first. So each transaction that changes posts runs one of these queries before its first row lock
 * (docs/decisions/0048-queues-of-posts.md).
 */
export const postQueue = (postId: string): Query<unknown> => ({ statement: JOIN_POST, values: [postId] });
/** The post of a comment never changes. */
export const postQueueOfComment = (commentId: string): Query<unknown> => ({
  statement: JOIN_POST_OF_COMMENT,
  values: [commentId],
});
/** Posts are queued for in the order of their ids. */
export const postQueues = (
  postIds: readonly string[],
  commentIds: readonly string[] = [],
): Query<unknown> => ({
  statement: JOIN_POSTS,
  values: [postIds, commentIds],
});
