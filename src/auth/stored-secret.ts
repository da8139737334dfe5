import type { Clock } from '../platform/clock.ts';
import { type Statement, statement } from '../platform/db/statement.ts';
import type { Logger } from '../platform/log.ts';
import type { Invalid } from './authenticate.ts';
import { createLastUse, FRESH, type LastUseOptions } from './last-use.ts';
import { type LookUpDatabase, lookUp, lookUpByHash } from './look-up.ts';
import { hashSecret } from './secret-format.ts';

/** What the row of every secret says. */
export interface SecretRow {
  readonly id: string;
  readonly userId: string;
  /** Whether its last use was stored so recently that it need not be stored again. */
  readonly fresh: boolean;
  /** Revoked, expired by the database's clock, or of a disabled account. */
  readonly ended: boolean;
}

export interface SecretServices {
  readonly database: LookUpDatabase;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A kind of secret of which the database has a hash. In its SQL, `s` is the secret's row. */
export interface SecretKind extends Pick<LastUseOptions, 'what' | 'table' | 'usedAt' | 'prolongedTo'> {
  readonly kind: string;
  /** What else its look-ups read, such as `JOIN users u ON u.id = s.user_id`. */
  readonly joins?: string;
  /** SQL: whether it has ended. */
  readonly ended: string;
  /** The columns that every look-up returns beside those of a SecretRow. */
  readonly columns: readonly string[];
  /** Those that only a look-up by the secret itself returns. */
  readonly columnsOfSecret?: readonly string[];
  /** Why one that is not valid is refused, for the client. */
  readonly refusal: string;
}

/** Looks secrets of a kind up. Each look-up asks the database, and rejects with DatabaseError. */
export function storedSecrets<ById extends SecretRow, BySecret extends ById = ById>(
  { database, clock, log }: SecretServices,
  { kind, refusal, joins = '', ended, columns, columnsOfSecret = [], ...rows }: SecretKind,
) {
  const { table, usedAt } = rows;
  const fresh = `coalesce(s.${usedAt} > now() - ${FRESH}, false)`;
  function select<Row>(by: 'hash' | 'id', type: string, more: readonly string[]): Statement<Row> {
    const all = [
      's.id, s.user_id AS "userId"',
      `${fresh} AS "fresh"`,
      `(${ended}) AS "ended"`,
      ...columns,
      ...more,
    ];
    return statement(
      `${table}_by_${by}`,
      `SELECT ${all.join(', ')} FROM ${table} s ${joins} WHERE s.${by} = ANY($1::${type}[])`,
    );
  }
  const findByHash = lookUpByHash(
    database,
    select<BySecret & { hash: Uint8Array }>('hash', 'bytea', ['s.hash', ...columnsOfSecret]),
  );
  const findById = lookUp(database, select<ById>('id', 'uuid', []), ({ id }) => id);
  const noteUse = createLastUse({ database, clock, log, ...rows });

  return {
    /** The row of a secret, ended or not. `owner` is its account, if that is known. */
    find: (secret: string, owner?: string) => findByHash(hashSecret(secret), owner),
    /** SQL: `fresh` of the secret with an id; null if it has ended, or if `same` does not hold. */
    freshIf: (id: string, same: string) =>
      `(SELECT ${fresh} FROM ${table} s ${joins} WHERE s.id = ${id}::uuid AND NOT (${ended}) AND ${same})`,
    /** The row with an id; undefined if there is none, or if it has ended. */
    async holding(id: string | undefined): Promise<ById | undefined> {
      const row = id === undefined ? undefined : await findById(id);
      return row?.ended === false ? row : undefined;
    },
    noteUse: ({ id, fresh }: SecretRow) => noteUse(id, fresh),
    /** The verdict on a secret that is unknown or has ended. */
    refused: (row?: SecretRow): Invalid => ({
      outcome: 'invalid',
      kind,
      reason: refusal,
      accountId: row?.userId,
    }),
  };
}
