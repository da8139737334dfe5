import { statement } from '../../platform/db/statement.ts';

/**
 * Locks an account's row for what is limited per account: a concurrent transaction that creates one more waits for
 * this one and then counts its rows too.
 */
export const LOCK_ACCOUNT = statement<{ id: string }>(
  'account_lock',
  'SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE',
);
