import type { Database } from '../database/database.ts';
import { DatabaseError } from '../database/errors.ts';
import { type Statement, statement } from '../database/statement.ts';
import { inBatches } from '../platform/async.ts';
import { OperatorError } from '../platform/errors.ts';
import { type AuthoredWork, auditAccounts, OPERATOR } from './audit.ts';
import { type Ended, type Endings, end, endAllCredentials, endMost, sumOf } from './revocation.ts';
import { streamTokensEndWhere } from './stream-tokens.ts';

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

/** Which part of what was issued to accounts is to end. */
export interface Revocation {
  readonly endings: Endings;
  /** Whether JWTs of other issuers end, too. */
  readonly tokens: boolean;
}

/** How many accounts were gone through, and what has ended. */
export interface Revoked {
  readonly accounts: number;
  readonly ended: Ended;
}

/** What `option` of `admin credential revoke` ends: a kind of `endings`, with the stream tokens issued for it. */
export const revocationOf = (endings: Endings, option: string): Revocation => ({
  endings: endings.flatMap((ending) =>
    ending.alone?.option === option ? [ending, streamTokensEndWhere(ending.alone.streamTokens)] : [],
  ),
  tokens: false,
});

/** Ends what is revoked for those of the accounts that `lock` could lock. Returns these accounts and what has ended. */
async function endForSome(
  database: Database,
  accounts: readonly string[],
  { endings, tokens }: Revocation,
  lock: Statement<Account>,
) {
  const most = await endMost(database, accounts, endings);
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const locked = (await work.query(lock, [accounts])).map(({ id }) => id);
    const rest = await (tokens ? endAllCredentials : end)(work, locked, endings);
    await auditAccounts(work, 'credential.revoke', locked, {
      kinds: [...endings.map(({ kind }) => kind), ...(tokens ? ['tokens'] : [])],
    });
    return { locked, ended: sumOf(rest, most) };
  });
}

/** Some accounts stayed locked by others. */
class AccountsLockedError extends OperatorError {
  constructor(ids: readonly string[]) {
    super(
      `Accounts that other transactions kept locked: ${ids.length}, such as ${ids[0]}. All others are done: run the command again.`,
    );
  }
}

/** Whether it has waited for a lock as long as it may. */
const isLocked = (error: unknown) =>
  error instanceof DatabaseError && (error.kind === 'timeout' || error.kind === 'locked');

/** Ends something of one account. Throws DatabaseError. */
export async function endForOne(database: Database, id: string, revocation: Revocation): Promise<Revoked> {
  const { locked, ended } = await endForSome(database, [id], revocation, LOCK);
  return { accounts: locked.length, ended };
}

/**
 * Ends something of all accounts, disabled ones too, a hundred in a transaction and 500 rows of a kind in a statement. Safe
 * to repeat, and whoever was interrupted has ended a part. Each account is locked as for a new password, so that what is
 * issued meanwhile comes before it and ends, or after it, by means that have not ended. Throws AccountsLockedError once all
 * other accounts are done, and DatabaseError.
 */
export async function endForEveryone(database: Database, revocation: Revocation): Promise<Revoked> {
  let ended: Ended = Object.fromEntries(revocation.endings.map(({ kind }) => [kind, 0]));
  let busy: string[] = [];
  let last = BEFORE_ALL;
  const accounts = await inBatches(PAGE, async () => {
    const ids = (await database.query(NEXT, [last, PAGE])).map(({ id }) => id);
    if (ids.length === 0) return 0;
    const done = await endForSome(database, ids, revocation, LOCK_FREE);
    ended = sumOf(ended, done.ended);
    const locked = new Set(done.locked);
    busy = [...busy, ...ids.filter((id) => !locked.has(id))];
    last = ids.at(-1) ?? last;
    return ids.length;
  });
  const stuck: string[] = [];
  for (const id of busy) {
    try {
      ended = sumOf(ended, (await endForOne(database, id, revocation)).ended);
    } catch (error) {
      if (!isLocked(error)) throw error;
      stuck.push(id);
    }
  }
  if (stuck.length > 0) throw new AccountsLockedError(stuck);
  return { accounts, ended };
}

/**
 * For a restored database, where what has ended since the backup works again: ends all that was signed in to with a
 * password, such as sessions, stream tokens and OAuth grants, of all accounts; with `keys`, revokes their API keys as well.
 * `endings` are those of the product (`src/features/features.ts`). Throws DatabaseError.
 */
export async function endSignIns(
  work: AuthoredWork,
  endings: Endings,
  { keys = false } = {},
): Promise<Ended> {
  const ending = endings.filter(
    ({ ofPassword, alone }) => ofPassword || (keys && alone?.option === 'api-keys'),
  );
  const accounts = (await work.query(ALL, [])).map(({ id }) => id);
  await auditAccounts(work, 'database.restore', accounts, { kinds: ending.map(({ kind }) => kind) });
  return end(work, accounts, ending);
}
