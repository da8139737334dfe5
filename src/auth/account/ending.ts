import { type Statement, statement } from '../../platform/db/statement.ts';

/** Ends something of accounts, the array $1, and counts what it has ended. */
export type EndStatement = Statement<{ ended: number }>;

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
  /** How it can end without the rest, by an option of `admin revoke-all`. Not given: it ends with everything else only. */
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
