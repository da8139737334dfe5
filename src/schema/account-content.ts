import { setTimeout as delay } from 'node:timers/promises';
import { type AccountContent, defineExportSection } from '../auth/data-export.ts';
import type { Database } from '../database/database.ts';
import { type Statement, statement } from '../database/statement.ts';
import { runInBatches } from '../platform/async.ts';
import { COMMENT_DELETED, POST_DELETED } from './event-kinds.ts';
import { postQueues } from './post/queue.ts';

/** Long transactions would delay events. PostgreSQL has room for only thousands of locks in total. */
const BATCH = 100;
/** The comments of the last post of a transaction come in addition. */
const MAX_CASCADED = 1_000;
/** All readers get events in one order, so a large account must leave room for the events of other accounts. */
const EVENTS_PER_SECOND = 2_000;

interface Target {
  readonly id: string;
  readonly postId: string;
}

/** Comments on posts of the account are excluded, because the event of a deleted post includes its comments. */
const OWN_COMMENTS = statement<Target>(
  'account_own_comments',
  `SELECT c.id, c.post_id AS "postId" FROM comments c JOIN posts p ON p.id = c.post_id
   WHERE c.author_id = $1 AND p.author_id <> $1 LIMIT $2`,
);
const COMMENTS_ON_OWN_POSTS = statement<Target>(
  'account_comments_on_posts',
  `SELECT c.id, c.post_id AS "postId" FROM posts p JOIN comments c ON c.post_id = p.id
   WHERE p.author_id = $1 AND p.comment_count > $2 LIMIT $2`,
);
const OWN_POSTS = statement<Target>(
  'account_own_posts',
  `SELECT id, id AS "postId" FROM (
     SELECT id, sum(comment_count) OVER (ORDER BY created_at, id) - comment_count AS before FROM posts
     WHERE author_id = $1 ORDER BY created_at, id LIMIT $2) AS next
   WHERE before <= ${MAX_CASCADED}`,
);
/** Mutations lock posts in the order of their ids, too (docs/decisions/0014-lock-ordering.md). */
const lockPosts = (name: string, strength: string) =>
  statement<never>(name, `SELECT FROM posts WHERE id = ANY($1::uuid[]) ORDER BY id FOR ${strength}`);
const TO_CHANGE = lockPosts('account_lock_posts', 'NO KEY UPDATE');
const TO_DELETE = lockPosts('account_lock_posts_to_delete', 'UPDATE');

interface Dropped {
  readonly comments: number;
}

const DROP_COMMENTS = statement<Dropped>(
  'account_drop_comments',
  `WITH gone AS (DELETE FROM comments USING posts WHERE comments.id = ANY($1::uuid[]) AND posts.id = comments.post_id
     RETURNING comments.id, comments.post_id, posts.author_id AS post_author_id),
   event AS (${COMMENT_DELETED.append('gone')})
   SELECT 0 AS comments FROM gone`,
);
const DROP_POSTS = statement<Dropped>(
  'account_drop_posts',
  `WITH gone AS (DELETE FROM posts WHERE id = ANY($1::uuid[]) RETURNING id, author_id, comment_count),
   event AS (${POST_DELETED.append('gone')})
   SELECT comment_count AS comments FROM gone`,
);

const NOTHING_DELETED = {
  deletedPosts: 0,
  deletedComments: 0,
};
type Deleted = typeof NOTHING_DELETED;

interface Deletion {
  readonly table: string;
  readonly counts: keyof Deleted;
  readonly targets: Statement<Target>;
  readonly lock: Statement<never>;
  readonly remove: Statement<Dropped>;
}

/**
 * Every table whose rows retain an account (`onDelete: Restrict` on User) needs a step, in this order
 * (docs/contributing/recipes/type.md).
 */
export const DELETIONS: readonly Deletion[] = [
  {
    table: 'comments',
    counts: 'deletedComments',
    targets: OWN_COMMENTS,
    lock: TO_CHANGE,
    remove: DROP_COMMENTS,
  },
  {
    table: 'comments',
    counts: 'deletedComments',
    targets: COMMENTS_ON_OWN_POSTS,
    lock: TO_CHANGE,
    remove: DROP_COMMENTS,
  },
  { table: 'posts', counts: 'deletedPosts', targets: OWN_POSTS, lock: TO_DELETE, remove: DROP_POSTS },
];

/** An interrupted deletion can be repeated. */
async function drop(database: Database, account: string): Promise<Deleted> {
  const deleted = { ...NOTHING_DELETED };
  let dueMs = performance.now();
  for (const { counts, targets, lock, remove } of DELETIONS)
    await runInBatches(1, async () => {
      await delay(Math.max(0, dueMs - performance.now()));
      dueMs = performance.now() + (BATCH / EVENTS_PER_SECOND) * 1_000;
      // Another process may delete rows at the same time, so only an empty result stops the loop.
      const { found, dropped } = await database.unitOfWork().run(async (work) => {
        const rows = await work.query(targets, [account, BATCH]);
        const posts = [...new Set(rows.map(({ postId }) => postId))];
        await work.queryInOrder(postQueues(posts), { statement: lock, values: [posts] });
        return { found: rows.length, dropped: await work.query(remove, [rows.map(({ id }) => id)]) };
      });
      deleted[counts] += dropped.length;
      for (const { comments } of dropped) deleted.deletedComments += comments;
      return found;
    });
  return deleted;
}

const DELETE_DRAFTS = statement<never>('account_drafts', 'DELETE FROM drafts WHERE author_id = $1');

const BY_AGE = [
  ['created_at', 'timestamptz', '-infinity'],
  ['id', 'uuid', '00000000-0000-0000-0000-000000000000'],
] as const;

export const ACCOUNT_CONTENT: AccountContent = {
  option: {
    name: 'content',
    description: 'Keep posts and comments under the name "Deleted user", or delete them',
  },
  exportSections: [
    defineExportSection({
      name: 'posts',
      tables: ['posts', 'tags', 'former_slugs'],
      alias: 'p',
      owner: 'author_id',
      // The index has this order.
      key: BY_AGE,
      columns: `p.id, p.title, p.body, coalesce(p.slug, p.id::text) AS "slug", p.comment_count AS "commentCount", p.created_at AS "createdAt",
         coalesce(p.updated_at, p.created_at) AS "updatedAt", p.version,
         ARRAY(SELECT t.name FROM tags t WHERE t.post_id = p.id ORDER BY t.position) AS "tags",
         ARRAY(SELECT f.slug FROM former_slugs f WHERE f.post_id = p.id AND f.slug <> p.slug ORDER BY f.slug COLLATE "C") AS "formerSlugs"`,
    }),
    defineExportSection({
      name: 'comments',
      tables: ['comments'],
      alias: 'c',
      owner: 'author_id',
      // The index has this order.
      key: BY_AGE,
      columns: `c.id, c.post_id AS "postId", c.body, c.created_at AS "createdAt",
         coalesce(c.updated_at, c.created_at) AS "updatedAt", c.version`,
    }),
    defineExportSection({
      name: 'drafts',
      tables: ['drafts'],
      alias: 'd',
      owner: 'author_id',
      columns: `d.id, d.title, d.body, d.tags, d.slug, d.created_at AS "createdAt", d.updated_at AS "updatedAt", d.version`,
    }),
  ],
  none: NOTHING_DELETED,
  drop,
  async deletePrivate(db, account) {
    await db.query(DELETE_DRAFTS, [account]);
  },
};
