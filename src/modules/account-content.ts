import { setTimeout as delay } from 'node:timers/promises';
import type { AccountContent } from '../auth/account/content.ts';
import { storedPart } from '../auth/account/stored-part.ts';
import type { Database } from '../platform/db/database.ts';
import { inBatches } from '../platform/db/in-batches.ts';
import { type Statement, statement } from '../platform/db/statement.ts';
import { COMMENT_DELETED } from './comment/events.ts';
import { POST_DELETED } from './post/events.ts';

/** Transactions stay short: long ones would delay events. */
const BATCH = 200;
/** Readers get all events in one order: those of a large account leave room for those of others. */
const EVENTS_A_SECOND = 2_000;

interface Target {
  readonly id: string;
  readonly postId: string;
}

const OWN_COMMENTS = statement<Target>(
  'account_own_comments',
  'SELECT id, post_id AS "postId" FROM comments WHERE author_id = $1 LIMIT $2',
);
const COMMENTS_ON_OWN_POSTS = statement<Target>(
  'account_comments_on_posts',
  `SELECT c.id, c.post_id AS "postId" FROM posts p JOIN comments c ON c.post_id = p.id WHERE p.author_id = $1 LIMIT $2`,
);
const OWN_POSTS = statement<Target>(
  'account_own_posts',
  'SELECT id, id AS "postId" FROM posts WHERE author_id = $1 LIMIT $2',
);
/** Posts first, by id, as mutations lock them (decision 14). */
const lockPosts = (name: string, strength: string) =>
  statement<never>(name, `SELECT FROM posts WHERE id = ANY($1::uuid[]) ORDER BY id FOR ${strength}`);
const TO_CHANGE = lockPosts('account_lock_posts', 'NO KEY UPDATE');
const TO_DELETE = lockPosts('account_lock_posts_to_delete', 'UPDATE');
/** Those on posts of the account go with these, and have no events of their own. */
const DROP_COMMENTS = statement<{ one: number }>(
  'account_drop_comments',
  `WITH gone AS (DELETE FROM comments USING posts WHERE comments.id = ANY($1::uuid[]) AND posts.id = comments.post_id
     RETURNING comments.id, comments.post_id, posts.author_id AS post_author_id),
   event AS (${COMMENT_DELETED.append('(SELECT * FROM gone WHERE post_author_id <> $2::uuid) AS elsewhere')})
   SELECT 1 AS one FROM gone`,
);
const DROP_POSTS = statement<{ one: number }>(
  'account_drop_posts',
  `WITH gone AS (DELETE FROM posts WHERE id = ANY($1::uuid[]) AND author_id = $2::uuid RETURNING id, author_id),
   event AS (${POST_DELETED.append('gone')})
   SELECT 1 AS one FROM gone`,
);

/** Deletes rows in batches, each under the locks of its posts, so many a second at most. Returns how many. */
async function drop(
  database: Database,
  id: string,
  targets: Statement<Target>,
  [lock, remove]: readonly [Statement<never>, Statement<{ one: number }>],
  aSecond = Number.POSITIVE_INFINITY,
): Promise<number> {
  let dropped = 0;
  let dueMs = performance.now();
  await inBatches(BATCH, async () => {
    await delay(Math.max(0, dueMs - performance.now()));
    dueMs = performance.now() + (BATCH / aSecond) * 1_000;
    return database.unitOfWork().run(async (work) => {
      const rows = await work.query(targets, [id, BATCH]);
      await work.query(lock, [[...new Set(rows.map(({ postId }) => postId))]]);
      dropped += (await work.query(remove, [rows.map((row) => row.id), id])).length;
      return rows.length;
    });
  });
  return dropped;
}

const BY_AGE = [
  ['created_at', 'timestamptz', '-infinity'],
  ['id', 'uuid', '00000000-0000-0000-0000-000000000000'],
] as const;

export const ACCOUNT_CONTENT: AccountContent = {
  option: {
    name: 'posts',
    description: 'what becomes of its posts and comments: "keep" leaves them under the name "Deleted user"',
  },
  stored: [
    storedPart({
      name: 'posts',
      tables: ['posts', 'tags'],
      alias: 'p',
      owner: 'author_id',
      // As the index has them.
      key: BY_AGE,
      columns: `p.id, p.title, p.body, p.comment_count AS "commentCount", p.created_at AS "createdAt",
         coalesce(p.updated_at, p.created_at) AS "updatedAt", p.version,
         ARRAY(SELECT t.name FROM tags t WHERE t.post_id = p.id ORDER BY t.position) AS "tags"`,
    }),
    storedPart({
      name: 'comments',
      tables: ['comments'],
      alias: 'c',
      owner: 'author_id',
      // As the index has them.
      key: BY_AGE,
      columns: `c.id, c.post_id AS "postId", c.body, c.created_at AS "createdAt",
         coalesce(c.updated_at, c.created_at) AS "updatedAt", c.version`,
    }),
  ],
  none: { deletedPosts: 0, deletedComments: 0 },
  async drop(database, account) {
    const own = await drop(database, account, OWN_COMMENTS, [TO_CHANGE, DROP_COMMENTS], EVENTS_A_SECOND);
    // Before their posts, since a post may have any number of them. They tell of nothing.
    const others = await drop(database, account, COMMENTS_ON_OWN_POSTS, [TO_CHANGE, DROP_COMMENTS]);
    const deletedPosts = await drop(database, account, OWN_POSTS, [TO_DELETE, DROP_POSTS], EVENTS_A_SECOND);
    return { deletedPosts, deletedComments: own + others };
  },
};
