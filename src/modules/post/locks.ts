import type { LockKind, NamedRow } from '../../graphql/row-locks.ts';
import { type Statement, statement } from '../../platform/db/statement.ts';
import { postQueues } from './queue.ts';

const COMMENT = 'comment';

/** Sorts the posts, then locks them one by one. A comment's id stands for its post, which never changes. */
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
 * Everything below a post is written under the lock of the post: its columns, tags, comments and comment
 * count. All posts get the strongest lock that any of them needs, so no lock is upgraded later.
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

/** The lock of a post that will be changed or get a comment. */
export const postToChange = (id: string | undefined): NamedRow => ({ kind: POSTS, id });
export const postToDelete = (id: string | undefined): NamedRow => ({ kind: POSTS, id, deleted: true });
/** The lock of the post that a comment is on. */
export const postOfComment = (id: string | undefined): NamedRow => ({ kind: POSTS, id, below: COMMENT });
