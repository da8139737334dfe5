import { type Queryable, type Statement, statement } from '../database/statement.ts';
import type { UnitOfWork } from '../database/unit-of-work.ts';
import { beingDeleted, emailKey, hasInvalidUnicode, noAccount } from './accounts.ts';
import type { Role } from './scopes.ts';

/** Revokes credentials of accounts, the array $1, and counts them. */
type RevocationStatement = Statement<{ revoked: number }>;

/** How one kind of credential is revoked with its account. The module that issues the kind declares it, beside its table. */
export interface CredentialRevocation {
  /** What the admin command counts it under. */
  readonly kind: string;
  /** Its plural, in a sentence. */
  readonly words: string;
  /** True if a new password revokes it, because it was issued after a login with the old one. */
  readonly onPasswordChange: boolean;
  /** True if disabling the account or changing its role revokes it. Others only follow what the account may do. */
  readonly onAccountChange?: boolean;
  /** The option of `admin credential revoke` that revokes this kind alone. Without it, the kind is only revoked with all others. */
  readonly separately?: {
    readonly option: string;
    /** SQL: true if a row `t` of stream_tokens was issued for it. */
    readonly streamTokens: string;
  };
  /** Revokes all of it. */
  readonly all: RevocationStatement;
  /**
   * For more rows than one transaction can take: run in this order, each statement spares $2 rows and revokes at most $2 more.
   * Only the rows of the last statement are counted.
   */
  readonly surplus: readonly RevocationStatement[];
}

/** `sql` is a DELETE or an UPDATE. */
export const revocationStatement = (label: string, sql: string): RevocationStatement =>
  statement(label, `WITH gone AS (${sql} RETURNING 1) SELECT count(*)::int AS "revoked" FROM gone`);

/** SQL: whether a column has the id of one of the accounts. */
export const inAccountsSql = (column = 'user_id'): string => `${column} = ANY($1::uuid[])`;

/** Deletes a part of the rows of a table `of` the accounts. */
export const deleteSurplus = (table: string, of: string, key = 'id', from = table): RevocationStatement =>
  revocationStatement(
    `account_surplus_${table}`,
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${from} WHERE ${of} OFFSET $2 LIMIT $2)`,
  );

/** Deletes the rows of a table that has a column `user_id` and nothing below it. `key` is its primary key. */
export const deleteRows = (table: string, key?: string): Pick<CredentialRevocation, 'all' | 'surplus'> => ({
  all: revocationStatement(`account_end_${table}`, `DELETE FROM ${table} WHERE ${inAccountsSql()}`),
  surplus: [deleteSurplus(table, inAccountsSql(), key)],
});

/** How many credentials of each kind were revoked. */
export type RevokedCounts = Readonly<Record<string, number>>;

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
  const [found] = hasInvalidUnicode(key) ? [] : await work.query(FIND_TO_CHANGE, [key]);
  if (found === undefined) throw noAccount(email);
  return found;
}

const BATCH = 500;

/** Kinds of credentials that are revoked together, in this order. */
export type Revocations = readonly CredentialRevocation[];

/** Revokes all credentials of these kinds, of all of the accounts. Throws DatabaseError. */
export async function revoke(
  work: Queryable,
  accounts: readonly string[],
  revocations: Revocations,
): Promise<RevokedCounts> {
  const counts: Record<string, number> = {};
  for (const { kind, all } of revocations)
    counts[kind] = (await work.query(all, [accounts]))[0]?.revoked ?? 0;
  return counts;
}

/**
 * Revokes what is too much for one transaction, in batches. The rest is for the transaction that makes the change. Safe to
 * repeat. Throws DatabaseError.
 */
export async function revokeInBatches(
  db: Queryable,
  accounts: readonly string[],
  revocations: Revocations,
): Promise<RevokedCounts> {
  const counts: Record<string, number> = {};
  for (const { kind, surplus } of revocations) {
    let full: boolean;
    do {
      full = false;
      for (const part of surplus) {
        const count = (await db.query(part, [accounts, BATCH]))[0]?.revoked ?? 0;
        full ||= count === BATCH;
        if (part === surplus.at(-1)) counts[kind] = (counts[kind] ?? 0) + count;
      }
    } while (full);
  }
  return counts;
}

/** What two steps have counted, by the names of the first. */
export function sumOf(one: RevokedCounts, other: RevokedCounts): RevokedCounts {
  return Object.fromEntries(Object.entries(one).map(([kind, count]) => [kind, count + (other[kind] ?? 0)]));
}

const DISABLE = statement<never>(
  'account_disable',
  'UPDATE users SET disabled_at = now() WHERE id = $1 AND disabled_at IS NULL',
);
const END_TOKENS = statement<never>(
  'account_end_tokens',
  `UPDATE users SET tokens_valid_from = clock_timestamp() WHERE ${inAccountsSql('id')}`,
);

/** Disables an account by the database's clock: none of its credentials is valid then. Throws DatabaseError. */
export async function disableAccount(db: Queryable, id: string): Promise<void> {
  await db.query(DISABLE, [id]);
}

/** Enables a disabled account: its credentials are valid again. Throws DatabaseError. */
export async function enableAccount(work: UnitOfWork, id: string): Promise<void> {
  await work.withPrisma((prisma) => prisma.user.updateMany({ where: { id }, data: { disabledAt: null } }));
}

/** Revokes all that was ever issued to accounts, JWTs of other issuers too. Throws DatabaseError. */
export async function revokeAllCredentials(
  work: UnitOfWork,
  accounts: readonly string[],
  revocations: Revocations,
): Promise<RevokedCounts> {
  await work.query(END_TOKENS, [accounts]);
  return revoke(work, accounts, revocations);
}

/** Sets a password and revokes what was issued after logins with the old one. Throws DatabaseError. */
export async function setPassword(
  work: UnitOfWork,
  id: string,
  passwordHash: string,
  revocations: Revocations,
): Promise<RevokedCounts> {
  await work.withPrisma((prisma) => prisma.user.updateMany({ where: { id }, data: { passwordHash } }));
  return revoke(work, [id], revocations);
}

/** Sets the role, which all credentials have from then on. Throws DatabaseError. */
export async function setRole(work: UnitOfWork, id: string, role: Role): Promise<void> {
  await work.withPrisma((prisma) => prisma.user.updateMany({ where: { id }, data: { role } }));
}
