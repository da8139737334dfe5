import { type Queryable, type Statement, statement } from '../database/statement.ts';
import type { UnitOfWork } from '../database/unit-of-work.ts';
import { beingDeleted, emailKey, isBroken, noAccount } from './accounts.ts';
import type { Role } from './scopes.ts';

/** Ends something of accounts, the array $1, and counts what it has ended. */
type EndStatement = Statement<{ ended: number }>;

/** How a kind of thing that was issued to an account ends with it. Whoever issues it declares it, beside its table. */
export interface AccountEnding {
  /** What the admin command counts it under. */
  readonly kind: string;
  /** Its plural, in a sentence. */
  readonly words: string;
  /** Whether a password stands behind it: it ends with the password, too. */
  readonly ofPassword: boolean;
  /** Whether it also ends when its account is disabled or gets another role. Not given: it only works as the account may. */
  readonly ofStanding?: boolean;
  /** How it can end without the rest, by an option of `admin credential revoke`. Not given: it ends with everything else only. */
  readonly alone?: {
    readonly option: string;
    /** SQL: whether a row `t` of stream_tokens was issued for it. */
    readonly streamTokens: string;
  };
  /** Ends all of it. */
  readonly all: EndStatement;
  /**
   * For what is too much for one transaction: run in this order, each statement spares $2 rows and ends at most $2 more.
   * Only the rows of the last statement are counted.
   */
  readonly surplus: readonly EndStatement[];
}

/** `sql` is a DELETE or an UPDATE. */
export const endStatement = (label: string, sql: string): EndStatement =>
  statement(label, `WITH gone AS (${sql} RETURNING 1) SELECT count(*)::int AS "ended" FROM gone`);

/** SQL: whether a column has the id of one of the accounts. */
export const ofAccounts = (column = 'user_id'): string => `${column} = ANY($1::uuid[])`;

/** Deletes a part of the rows of a table `of` the accounts. */
export const endSurplus = (table: string, of: string, key = 'id', from = table): EndStatement =>
  endStatement(
    `account_surplus_${table}`,
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${from} WHERE ${of} OFFSET $2 LIMIT $2)`,
  );

/** Deletes the rows of a table that has a column `user_id` and nothing below it. `key` is its primary key. */
export const endRows = (table: string, key?: string): Pick<AccountEnding, 'all' | 'surplus'> => ({
  all: endStatement(`account_end_${table}`, `DELETE FROM ${table} WHERE ${ofAccounts()}`),
  surplus: [endSurplus(table, ofAccounts(), key)],
});

/** How many credentials of each kind have ended. */
export type Ended = Readonly<Record<string, number>>;

interface Found {
  readonly id: string;
  readonly deleted: boolean;
}

/** Locks the account before what belongs to it (decision 14). A concurrent login waits. */
const FIND_TO_CHANGE = statement<Found>(
  'account_to_change',
  `SELECT id, deleted_at IS NOT NULL AS "deleted" FROM users WHERE email_key = $1 FOR NO KEY UPDATE`,
);

/** The id of the account with an e-mail, locked. Throws AccountError, also if its deletion has begun. */
export async function accountToChange(work: UnitOfWork, email: string): Promise<string> {
  const { id, deleted } = await accountToDelete(work, email);
  if (deleted) throw beingDeleted(email);
  return id;
}

/** The same for an account that may be deleted in part. */
export async function accountToDelete(work: UnitOfWork, email: string): Promise<Found> {
  const key = emailKey(email);
  const [found] = isBroken(key) ? [] : await work.query(FIND_TO_CHANGE, [key]);
  if (found === undefined) throw noAccount(email);
  return found;
}

const BATCH = 500;

/** What ends, in this order. */
export type Endings = readonly AccountEnding[];

/** Ends all of it, of all of the accounts. Throws DatabaseError. */
export async function end(work: Queryable, accounts: readonly string[], endings: Endings): Promise<Ended> {
  const ended: Record<string, number> = {};
  for (const { kind, all } of endings) ended[kind] = (await work.query(all, [accounts]))[0]?.ended ?? 0;
  return ended;
}

/**
 * Ends what is too much for one transaction, in batches. The rest is for the transaction that makes the change. Safe to
 * repeat. Throws DatabaseError.
 */
export async function endMost(db: Queryable, accounts: readonly string[], endings: Endings): Promise<Ended> {
  const ended: Record<string, number> = {};
  for (const { kind, surplus } of endings) {
    let full: boolean;
    do {
      full = false;
      for (const part of surplus) {
        const count = (await db.query(part, [accounts, BATCH]))[0]?.ended ?? 0;
        full ||= count === BATCH;
        if (part === surplus.at(-1)) ended[kind] = (ended[kind] ?? 0) + count;
      }
    } while (full);
  }
  return ended;
}

/** What two steps have counted, by the names of the first. */
export function sumOf(one: Ended, other: Ended): Ended {
  return Object.fromEntries(Object.entries(one).map(([kind, count]) => [kind, count + (other[kind] ?? 0)]));
}

const DISABLE = statement<never>(
  'account_disable',
  'UPDATE users SET disabled_at = now() WHERE id = $1 AND disabled_at IS NULL',
);
const END_TOKENS = statement<never>(
  'account_end_tokens',
  `UPDATE users SET tokens_valid_from = clock_timestamp() WHERE ${ofAccounts('id')}`,
);

/** Has none of the credentials of an account work, by the database's clock. Throws DatabaseError. */
export async function disableAccount(db: Queryable, id: string): Promise<void> {
  await db.query(DISABLE, [id]);
}

/** Makes the credentials of a disabled account work again. Throws DatabaseError. */
export async function enableAccount(work: UnitOfWork, id: string): Promise<void> {
  await work.withPrisma((prisma) => prisma.user.updateMany({ where: { id }, data: { disabledAt: null } }));
}

/** Ends all that was ever issued to accounts, JWTs of other issuers too. Throws DatabaseError. */
export async function endAllCredentials(
  work: UnitOfWork,
  accounts: readonly string[],
  endings: Endings,
): Promise<Ended> {
  await work.query(END_TOKENS, [accounts]);
  return end(work, accounts, endings);
}

/** Sets a password and ends what was signed in to with the one before. Throws DatabaseError. */
export async function setPassword(
  work: UnitOfWork,
  id: string,
  passwordHash: string,
  signedIn: Endings,
): Promise<Ended> {
  await work.withPrisma((prisma) => prisma.user.updateMany({ where: { id }, data: { passwordHash } }));
  return end(work, [id], signedIn);
}

/** Sets the role, which all credentials have from then on. Throws DatabaseError. */
export async function setRole(work: UnitOfWork, id: string, role: Role): Promise<void> {
  await work.withPrisma((prisma) => prisma.user.updateMany({ where: { id }, data: { role } }));
}
