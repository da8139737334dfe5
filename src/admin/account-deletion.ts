import { setTimeout as delay } from 'node:timers/promises';
import { accountToDelete, type Endings, endAllCredentials, endMost } from '../auth/account/endings.ts';
import type { Database } from '../platform/db/database.ts';
import { DatabaseError, violatedForeignKey } from '../platform/db/errors.ts';
import { inBatches } from '../platform/db/in-batches.ts';
import { type Statement, statement } from '../platform/db/statement.ts';
import { AdminError } from './output.ts';

/** What becomes of the posts and comments of a deleted account. */
export type Posts = 'keep' | 'delete';

/** Transactions stay short: long ones would delay events. */
const BATCH = 500;
/** Requests may have been authenticated this long ago without a look at the database. */
const LATE_REQUESTS_MS = 1_000;
/** A mutation that runs meanwhile may write until its time is up. */
const ATTEMPTS = 30;

/** From here on, the account can only be deleted. It keeps its e-mail, so that running the command again finds it. */
const BEGIN = statement<never>(
  'account_deletion_begin',
  `UPDATE users SET disabled_at = coalesce(disabled_at, now()), deleted_at = coalesce(deleted_at, now()), password_hash = NULL
   WHERE id = $1`,
);
const DROP_KEYS = statement<{ one: number }>(
  'account_drop_keys',
  `DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE user_id = $1 LIMIT $2) RETURNING 1 AS one`,
);
const DROP_ANSWERS = statement<{ one: number }>(
  'account_drop_answers',
  `DELETE FROM idempotency_keys WHERE (user_id, key_hash) IN (
     SELECT user_id, key_hash FROM idempotency_keys WHERE user_id = $1 LIMIT $2) RETURNING 1 AS one`,
);
const LEAVE = statement<never>(
  'account_leave',
  `UPDATE users SET name = 'Deleted user', email = '', email_key = NULL, role = 'member' WHERE id = $1`,
);

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
const DROP_COMMENTS = statement<{ one: number }>(
  'account_drop_comments',
  'DELETE FROM comments WHERE id = ANY($1::uuid[]) RETURNING 1 AS one',
);
const DROP_POSTS = statement<{ one: number }>(
  'account_drop_posts',
  'DELETE FROM posts WHERE id = ANY($1::uuid[]) RETURNING 1 AS one',
);
const DROP_ACCOUNT = statement<never>('account_drop', 'DELETE FROM users WHERE id = $1');

/**
 * Ends everything that the account could be used with, for good: at once, since nothing of a disabled account works.
 * Safe to repeat.
 */
async function begin(database: Database, endings: Endings, email: string): Promise<string> {
  const id = await database.unitOfWork().run(async (work) => {
    const found = await accountToDelete(work, email);
    await work.query(BEGIN, [found.id]);
    return found.id;
  });
  await endMost(database, [id], endings);
  await database.unitOfWork().run((work) => endAllCredentials(work, [id], endings));
  await inBatches(BATCH, async () => (await database.query(DROP_KEYS, [id, BATCH])).length);
  return id;
}

/** Deletes rows in batches, each under the locks of its posts. Returns how many. */
async function drop(
  database: Database,
  id: string,
  targets: Statement<Target>,
  [lock, remove]: readonly [Statement<never>, Statement<{ one: number }>],
): Promise<number> {
  let dropped = 0;
  await inBatches(BATCH, () =>
    database.unitOfWork().run(async (work) => {
      const rows = await work.query(targets, [id, BATCH]);
      await work.query(lock, [[...new Set(rows.map(({ postId }) => postId))]]);
      dropped += (await work.query(remove, [rows.map((row) => row.id)])).length;
      return rows.length;
    }),
  );
  return dropped;
}

const dropAnswers = (database: Database, id: string) =>
  inBatches(BATCH, async () => (await database.query(DROP_ANSWERS, [id, BATCH])).length);

/** Removes the row. False if a mutation that is still running has written something under it. */
async function dropAccount(database: Database, id: string): Promise<boolean> {
  try {
    await database.query(DROP_ACCOUNT, [id]);
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && violatedForeignKey(error) !== undefined) return false;
    throw error;
  }
}

/** `Post.author` is never null: the row goes last, and only once nothing refers to it. */
async function dropWithPosts(database: Database, id: string) {
  await delay(LATE_REQUESTS_MS);
  let comments = 0;
  let posts = 0;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    comments += await drop(database, id, OWN_COMMENTS, [TO_CHANGE, DROP_COMMENTS]);
    // Before their posts, since a post may have any number of them.
    comments += await drop(database, id, COMMENTS_ON_OWN_POSTS, [TO_CHANGE, DROP_COMMENTS]);
    posts += await drop(database, id, OWN_POSTS, [TO_DELETE, DROP_POSTS]);
    await dropAnswers(database, id);
    if (await dropAccount(database, id))
      return { id, deleted: true, deletedPosts: posts, deletedComments: comments };
    await delay(LATE_REQUESTS_MS);
  }
  throw new AdminError('Posts of the account are still being written. Run the command again to finish.');
}

/**
 * Deletes an account (contract section 8). Its credentials end first. Run again, this finishes what a killed process
 * has left. Throws AccountError, AdminError, DatabaseError.
 */
export async function deleteAccount(database: Database, endings: Endings, email: string, posts: Posts) {
  const id = await begin(database, endings, email);
  if (posts === 'delete') return dropWithPosts(database, id);
  await delay(LATE_REQUESTS_MS);
  await dropAnswers(database, id);
  // It waits for mutations that have written something under the account. What they have stored comes after it, since
  // without its e-mail, the account could not be found again to finish.
  await database.query(LEAVE, [id]);
  await dropAnswers(database, id);
  return { id, deleted: true, deletedPosts: 0, deletedComments: 0 };
}
