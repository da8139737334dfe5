import type { Database } from '../database/database.ts';
import { DatabaseError } from '../database/errors.ts';
import { type Statement, statement } from '../database/statement.ts';
import { runInBatches } from '../platform/async.ts';
import { OperatorError } from '../platform/errors.ts';
import { type AuthoredWork, auditAccounts, OPERATOR } from './audit.ts';
import {
  type Revocations,
  type RevokedCounts,
  revoke,
  revokeAllCredentials,
  revokeInBatches,
  sumOf,
} from './revocation.ts';
import { revokeStreamTokensWhere } from './stream-tokens.ts';

interface Account {
  readonly id: string;
}

/** Accounts of one transaction. Their log-ins wait for it. */
const PAGE = 100;
/** The least id of all. */
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';
const NEXT = statement<Account>('accounts_next', 'SELECT id FROM users WHERE id > $1 ORDER BY id LIMIT $2');
const ALL = statement<Account>('accounts_all', 'SELECT id FROM users ORDER BY id');
const LOCK = statement<Account>(
  'accounts_lock',
  'SELECT id FROM users WHERE id = ANY($1::uuid[]) FOR NO KEY UPDATE',
);
/** Skips locked accounts: waiting for one while others are locked would keep all of them from logging in. */
const LOCK_FREE = statement<Account>(
  'accounts_lock_free',
  'SELECT id FROM users WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED',
);

/** Which of the credentials of accounts to revoke. */
export interface RevocationScope {
  readonly revocations: Revocations;
  /** True if JWTs of other issuers are revoked, too. */
  readonly tokens: boolean;
}

/** How many accounts were gone through, and what was revoked. */
export interface Revoked {
  readonly accounts: number;
  readonly ended: RevokedCounts;
}

/** What `option` of `admin credential revoke` revokes: a kind of `revocations`, with the stream tokens issued for it. */
export const selectRevocations = (revocations: Revocations, option: string): RevocationScope => ({
  revocations: revocations.flatMap((revocation) =>
    revocation.separately?.option === option
      ? [revocation, revokeStreamTokensWhere(revocation.separately.streamTokens)]
      : [],
  ),
  tokens: false,
});

/** Revokes the credentials of the accounts that `lock` could lock. Returns these accounts and the counts. */
async function revokeForUnlocked(
  database: Database,
  accounts: readonly string[],
  { revocations, tokens }: RevocationScope,
  lock: Statement<Account>,
) {
  const most = await revokeInBatches(database, accounts, revocations);
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const locked = (await work.query(lock, [accounts])).map(({ id }) => id);
    const rest = await (tokens ? revokeAllCredentials : revoke)(work, locked, revocations);
    await auditAccounts(work, 'credential.revoke', locked, {
      kinds: [...revocations.map(({ kind }) => kind), ...(tokens ? ['tokens'] : [])],
    });
    return { locked, ended: sumOf(rest, most) };
  });
}

/** Some accounts stayed locked by others. */
class AccountsLockedError extends OperatorError {
  constructor(ids: readonly string[]) {
    super(
      `Other transactions kept ${ids.length} accounts locked, such as ${ids[0]}. The credentials of all other accounts were revoked. Run the command again.`,
    );
  }
}

/** Whether it has waited for a lock as long as it may. */
const isLocked = (error: unknown) =>
  error instanceof DatabaseError && (error.kind === 'timeout' || error.kind === 'locked');

/** Revokes credentials of one account. Throws DatabaseError. */
export async function revokeForAccount(
  database: Database,
  id: string,
  revocation: RevocationScope,
): Promise<Revoked> {
  const { locked, ended } = await revokeForUnlocked(database, [id], revocation, LOCK);
  return { accounts: locked.length, ended };
}

/**
 * Revokes credentials of all accounts, disabled ones too, a hundred accounts in a transaction and 500 rows of a kind in a
 * statement. Safe to repeat; an interrupted run has revoked a part. Each account is locked as for a new password, so that a
 * credential issued meanwhile is either issued before the lock, and revoked, or after it, for a credential that is still
 * valid. Throws AccountsLockedError once all other accounts are done, and DatabaseError.
 */
export async function revokeForAllAccounts(
  database: Database,
  revocation: RevocationScope,
): Promise<Revoked> {
  let ended: RevokedCounts = Object.fromEntries(revocation.revocations.map(({ kind }) => [kind, 0]));
  let busy: string[] = [];
  let last = BEFORE_ALL;
  const accounts = await runInBatches(PAGE, async () => {
    const ids = (await database.query(NEXT, [last, PAGE])).map(({ id }) => id);
    if (ids.length === 0) return 0;
    const done = await revokeForUnlocked(database, ids, revocation, LOCK_FREE);
    ended = sumOf(ended, done.ended);
    const locked = new Set(done.locked);
    busy = [...busy, ...ids.filter((id) => !locked.has(id))];
    last = ids.at(-1) ?? last;
    return ids.length;
  });
  const stuck: string[] = [];
  for (const id of busy) {
    try {
      ended = sumOf(ended, (await revokeForAccount(database, id, revocation)).ended);
    } catch (error) {
      if (!isLocked(error)) throw error;
      stuck.push(id);
    }
  }
  if (stuck.length > 0) throw new AccountsLockedError(stuck);
  return { accounts, ended };
}

/**
 * For a restored database, where what was revoked after the backup is valid again: revokes all that was issued after a login
 * with a password, such as sessions, stream tokens and OAuth grants, of all accounts; with `keys`, their API keys as well.
 * `revocations` are those of the product (`src/features/features.ts`). Throws DatabaseError.
 */
export async function revokeLogins(
  work: AuthoredWork,
  revocations: Revocations,
  { keys = false } = {},
): Promise<RevokedCounts> {
  const revocation = revocations.filter(
    ({ onPasswordChange, separately }) => onPasswordChange || (keys && separately?.option === 'api-keys'),
  );
  const accounts = (await work.query(ALL, [])).map(({ id }) => id);
  await auditAccounts(work, 'database.restore', accounts, { kinds: revocation.map(({ kind }) => kind) });
  return revoke(work, accounts, revocation);
}
