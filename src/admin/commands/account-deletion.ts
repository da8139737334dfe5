import { setTimeout as delay } from 'node:timers/promises';
import { audit, OPERATOR } from '../../auth/audit.ts';
import { removeIdentities } from '../../auth/external-identities.ts';
import { accountToDelete, revokeAllCredentials, revokeInBatches, sumOf } from '../../auth/revocation.ts';
import type { Database } from '../../database/database.ts';
import { violatedForeignKey } from '../../database/errors.ts';
import { statement } from '../../database/statement.ts';
import { runInPrisma } from '../../database/unit-of-work.ts';
import { REVOCATIONS } from '../../features/features.ts';
import { runInBatches } from '../../platform/async.ts';
import { ACCOUNT_CONTENT } from '../../schema/account-content.ts';
import { AdminError } from '../cli/output.ts';

/** Long transactions would delay events. */
const BATCH = 500;
/** Requests authenticated up to a second ago may still run without another look at the database. */
const LATE_REQUESTS_MS = 1_000;
/** A running mutation may write to the account until its time limit. */
const ATTEMPTS = 30;

/** The account keeps its email address, so that a repeated command finds it. */
const BEGIN = statement<never>(
  'account_deletion_begin',
  `UPDATE users SET disabled_at = coalesce(disabled_at, now()), deleted_at = coalesce(deleted_at, now()), password_hash = NULL
   WHERE id = $1`,
);
const DROP_KEYS = statement<{ one: number }>(
  'account_drop_keys',
  `DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE user_id = $1 LIMIT $2) RETURNING 1 AS one`,
);
const DELETE_STORED_RESPONSES = statement<{ one: number }>(
  'account_drop_answers',
  `DELETE FROM idempotency_keys WHERE (user_id, key_hash) IN (
     SELECT user_id, key_hash FROM idempotency_keys WHERE user_id = $1 LIMIT $2) RETURNING 1 AS one`,
);
const DROP_ACCOUNT = statement<never>('account_drop', 'DELETE FROM users WHERE id = $1');

/** No credential of a disabled account is valid, so the revocation is immediate. Safe to repeat. */
async function begin(database: Database, email: string, contentPolicy: ContentPolicy): Promise<string> {
  const id = await database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const found = await accountToDelete(work, email);
    await work.query(BEGIN, [found.id]);
    await removeIdentities(work, found.id);
    await audit(work, 'user.delete', found.id, { account: found.id, content: contentPolicy });
    return found.id;
  });
  await revokeInBatches(database, [id], REVOCATIONS);
  await database.unitOfWork().run((work) => revokeAllCredentials(work, [id], REVOCATIONS));
  await runInBatches(BATCH, async () => (await database.query(DROP_KEYS, [id, BATCH])).length);
  return id;
}

async function deletePrivateRows(database: Database, id: string): Promise<void> {
  await ACCOUNT_CONTENT.deletePrivate(database, id);
  await runInBatches(BATCH, async () => (await database.query(DELETE_STORED_RESPONSES, [id, BATCH])).length);
}

/** @returns false if a running mutation has written a row that refers to the account. */
async function dropAccount(database: Database, id: string): Promise<boolean> {
  try {
    await database.query(DROP_ACCOUNT, [id]);
    return true;
  } catch (error) {
    if (violatedForeignKey(error) !== undefined) return false;
    throw error;
  }
}

/** Content needs its author while readers can still see it, so the row of the account is deleted last. */
async function dropWithContent(database: Database, id: string) {
  await delay(LATE_REQUESTS_MS);
  let dropped = ACCOUNT_CONTENT.none;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    dropped = sumOf(dropped, await ACCOUNT_CONTENT.drop(database, id));
    await deletePrivateRows(database, id);
    if (await dropAccount(database, id)) return { id, deleted: true, ...dropped };
    await delay(LATE_REQUESTS_MS);
  }
  throw new AdminError(
    `Account ${id} is disabled and partly deleted, because running requests of the account still write. Run the command again to finish.`,
  );
}

export type ContentPolicy = 'keep' | 'delete';

/**
 * Credentials are revoked first. A second run completes an interrupted deletion.
 * @throws {AccountError}
 * @throws {AdminError}
 * @throws {DatabaseError}
 */
export async function deleteAccount(database: Database, email: string, contentPolicy: ContentPolicy) {
  const id = await begin(database, email, contentPolicy);
  if (contentPolicy === 'delete') return dropWithContent(database, id);
  await delay(LATE_REQUESTS_MS);
  await deletePrivateRows(database, id);
  // The update waits for mutations that have written to the account, so their private rows are deleted
  // afterwards. Other private rows are deleted before, because a repeated command could not find the
  // account without its email address.
  const profile = { name: 'Deleted user', handle: null, bio: '', avatarUrl: null };
  const data = { ...profile, email: '', emailKey: null, emailVerifiedAt: null, role: 'member' } as const;
  await runInPrisma(database, (prisma) => prisma.user.updateMany({ where: { id }, data }));
  await deletePrivateRows(database, id);
  return { id, deleted: true, ...ACCOUNT_CONTENT.none };
}
