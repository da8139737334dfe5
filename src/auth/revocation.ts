import { type Queryable, type Statement, statement } from '../database/statement.ts';
import type { UnitOfWork } from '../database/unit-of-work.ts';
import { beingDeleted, emailKey, hasInvalidUnicode, noAccount } from './accounts.ts';
import type { Role } from './scopes.ts';

/** The array $1 has the ids of the accounts. */
type RevocationStatement = Statement<{ revoked: number }>;

/** The module that issues a kind of credential declares how the kind is revoked with its account. */
export interface CredentialRevocation {
  /** The name of the count in the response of the admin command. */
  readonly kind: string;
  readonly words: string;
  /** True if a new password revokes the kind, because it was issued after a login with the old password. */
  readonly onPasswordChange: boolean;
  /**
   * True if disabling the account or changing its role revokes the kind. Other kinds only lose permissions.
   */
  readonly onAccountChange?: boolean;
  /** The option of `admin credential revoke` that revokes only this kind. */
  readonly separately?: {
    readonly option: string;
    /** SQL that is true if a row `t` of stream_tokens was issued for the kind. */
    readonly streamTokens: string;
  };
  readonly all: RevocationStatement;
  /**
   * Statements for more rows than one transaction can take. Each spares $2 rows and revokes at most $2 more.
   * Only the rows of the last statement are counted.
   */
  readonly surplus: readonly RevocationStatement[];
}

/** @param sql a DELETE or an UPDATE */
export const revocationStatement = (label: string, sql: string): RevocationStatement =>
  statement(label, `WITH revoked AS (${sql} RETURNING 1) SELECT count(*)::int AS "revoked" FROM revoked`);

export const inAccountsSql = (column = 'user_id'): string => `${column} = ANY($1::uuid[])`;

/** @param of the column with the account's id */
export const deleteSurplus = (table: string, of: string, key = 'id', from = table): RevocationStatement =>
  revocationStatement(
    `account_surplus_${table}`,
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${from} WHERE ${of} OFFSET $2 LIMIT $2)`,
  );

/**
 * For a table with a column `user_id` that no other table references.
 * @param key the primary key
 */
export const deleteRows = (table: string, key?: string): Pick<CredentialRevocation, 'all' | 'surplus'> => ({
  all: revocationStatement(`account_end_${table}`, `DELETE FROM ${table} WHERE ${inAccountsSql()}`),
  surplus: [deleteSurplus(table, inAccountsSql(), key)],
});

export type RevokedCounts = Readonly<Record<string, number>>;

interface Found {
  readonly id: string;
  readonly deleted: boolean;
}

/** Locks the account before its dependent rows (decisions/0014-lock-ordering.md). */
const FIND_TO_CHANGE = statement<Found>(
  'account_to_change',
  `SELECT id, deleted_at IS NOT NULL AS "deleted" FROM users WHERE email_key = $1 FOR NO KEY UPDATE`,
);

/**
 * Locks an account by its email address.
 * @throws {AccountError} also if the account's deletion has begun
 */
export async function accountToChange(work: UnitOfWork, email: string): Promise<string> {
  const { id, deleted } = await accountToDelete(work, email);
  if (deleted) throw beingDeleted(email);
  return id;
}

/**
 * Locks an account whose deletion may have begun.
 * @throws {AccountError}
 */
export async function accountToDelete(work: UnitOfWork, email: string): Promise<Found> {
  const key = emailKey(email);
  const [found] = hasInvalidUnicode(key) ? [] : await work.query(FIND_TO_CHANGE, [key]);
  if (found === undefined) throw noAccount(email);
  return found;
}

const BATCH = 500;

/** The order is the order of revocation. */
export type Revocations = readonly CredentialRevocation[];

/** @throws {DatabaseError} */
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
 * Revokes the rows that are too many for one transaction. The transaction that makes the change revokes the
 * rest. A repeated call does no harm.
 * @throws {DatabaseError}
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

/** @throws {DatabaseError} */
export async function disableAccount(db: Queryable, id: string): Promise<void> {
  await db.query(DISABLE, [id]);
}

/** @throws {DatabaseError} */
export async function enableAccount(work: UnitOfWork, id: string): Promise<void> {
  await work.withPrisma((prisma) => prisma.user.updateMany({ where: { id }, data: { disabledAt: null } }));
}

/**
 * Revokes all credentials of accounts, including JWTs of external issuers.
 * @throws {DatabaseError}
 */
export async function revokeAllCredentials(
  work: UnitOfWork,
  accounts: readonly string[],
  revocations: Revocations,
): Promise<RevokedCounts> {
  await work.query(END_TOKENS, [accounts]);
  return revoke(work, accounts, revocations);
}

/**
 * Sets a password and revokes what was issued after logins with the old password.
 * @throws {DatabaseError}
 */
export async function setPassword(
  work: UnitOfWork,
  id: string,
  passwordHash: string,
  revocations: Revocations,
): Promise<RevokedCounts> {
  await work.withPrisma((prisma) => prisma.user.updateMany({ where: { id }, data: { passwordHash } }));
  return revoke(work, [id], revocations);
}

/**
 * The new role applies to all credentials immediately.
 * @throws {DatabaseError}
 */
export async function setRole(work: UnitOfWork, id: string, role: Role): Promise<void> {
  await work.withPrisma((prisma) => prisma.user.updateMany({ where: { id }, data: { role } }));
}
