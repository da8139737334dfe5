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

/** Logins of these accounts wait for the transaction. */
const PAGE = 100;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';
const NEXT = statement<Account>('accounts_next', 'SELECT id FROM users WHERE id > $1 ORDER BY id LIMIT $2');
const ALL = statement<Account>('accounts_all', 'SELECT id FROM users ORDER BY id');
const LOCK = statement<Account>(
  'accounts_lock',
  'SELECT id FROM users WHERE id = ANY($1::uuid[]) FOR NO KEY UPDATE',
);
/**
 * The statement skips locked accounts. Waiting for one account while others are locked would block the logins
 * of all of them.
 */
const LOCK_FREE = statement<Account>(
  'accounts_lock_free',
  'SELECT id FROM users WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED',
);

export interface RevocationScope {
  readonly revocations: Revocations;
  /** True if JWTs of external issuers are revoked as well. */
  readonly tokens: boolean;
}

export interface Revoked {
  readonly accounts: number;
  readonly ended: RevokedCounts;
}

export const selectRevocations = (revocations: Revocations, option: string): RevocationScope => ({
  revocations: revocations.flatMap((revocation) =>
    revocation.separately?.option === option
      ? [revocation, revokeStreamTokensWhere(revocation.separately.streamTokens)]
      : [],
  ),
  tokens: false,
});

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

class AccountsLockedError extends OperatorError {
  constructor(ids: readonly string[]) {
    super(
      `Other transactions kept ${ids.length} accounts locked, such as ${ids[0]}. The credentials of all other accounts were revoked. Run the command again.`,
    );
  }
}

/** True if the wait for a lock has timed out. */
const isLocked = (error: unknown) =>
  error instanceof DatabaseError && (error.kind === 'timeout' || error.kind === 'locked');

/** @throws {DatabaseError} */
export async function revokeForAccount(
  database: Database,
  id: string,
  revocation: RevocationScope,
): Promise<Revoked> {
  const { locked, ended } = await revokeForUnlocked(database, [id], revocation, LOCK);
  return { accounts: locked.length, ended };
}

/**
 * Revokes credentials of all accounts, disabled accounts included. A transaction takes a hundred accounts, a
 * statement 500 rows of a kind. An interrupted run has revoked a part, and a repeated run does no harm. The
 * lock is the one for a new password: credentials issued before the lock are revoked, and later ones need
 * valid credentials.
 * @throws {AccountsLockedError} once all other accounts are done
 * @throws {DatabaseError}
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
 * Makes a restored database safe, because credentials that were revoked after the backup are valid again.
 * Revokes what was issued after a login with a password: sessions, stream tokens and OAuth grants of all
 * accounts. With `keys`, API keys are revoked as well.
 * @param revocations all kinds of the product (`src/features/features.ts`)
 * @throws {DatabaseError}
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
