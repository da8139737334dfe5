import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';
import { Cancellation } from '../platform/db/cancellation.ts';
import type { Database } from '../platform/db/database.ts';
import { gathered } from '../platform/db/gathered.ts';
import { type Queryable, type Statement, statement } from '../platform/db/statement.ts';
import type { Logger } from '../platform/log.ts';
import type { Invalid } from './authenticate.ts';
import { createLastUse, FRESH, type LastUseOptions } from './last-use.ts';
import { byteaText, hashSecret } from './secret-format.ts';

/**
 * Revoked credentials are refused everywhere within a second (contract section 3): an entry lives half of
 * that.
 */
const TTL_MS = 500;
const MAX_ENTRIES = 10_000;

/**
 * Caches what the database says about credentials, so briefly that no revocation is missed. Concurrent
 * callers share one look-up. A failed one is not cached, and rejects with what `ask` throws.
 */
export function createCredentialCache<T>(clock: Clock) {
  const cache = new LRUCache<string, { readonly found: Promise<T>; readonly untilMs: number }>({
    max: MAX_ENTRIES,
  });
  return (name: string, ask: () => Promise<T>): Promise<T> => {
    const nowMs = clock.elapsedMs();
    const cached = cache.get(name);
    if (cached !== undefined && cached.untilMs > nowMs) return cached.found;
    const found = ask();
    cache.set(name, { found, untilMs: nowMs + TTL_MS });
    found.catch(() => cache.delete(name));
    return found;
  };
}

/** The database for reads of an owner, who takes turns with others and is charged for them (decision 16). */
export const readsOf = (database: Pick<Database, 'cancellable'>, owner: string | undefined): Queryable =>
  database.cancellable(new Cancellation(undefined, owner));

/** The part of a database that look-ups use. */
export type LookUpDatabase = Queryable & Pick<Database, 'cancellable'>;

const MAX_REMEMBERED = 10_000;
/** All look-ups of secrets that nobody has shown before share one owner's turns on the database (decision 16). */
const STRANGERS = 'unknown credentials';

/** Looks rows up by key, many in one statement. Undefined if there is none. Rejects with DatabaseError. */
export function lookUp<Row>(db: Queryable, statement: Statement<Row>, keyOf: (row: Row) => string) {
  return gathered(async (keys: readonly string[]) => {
    const found = new Map((await db.query(statement, [keys])).map((row) => [keyOf(row), row]));
    return keys.map((key) => found.get(key));
  });
}

/**
 * Looks credentials up by the hash of their secret, each account's in its own turns once its secret has been found
 * before. Undefined if there is none. Rejects with DatabaseError.
 */
function lookUpByHash<Row extends { readonly hash: Uint8Array; readonly userId: string }>(
  database: LookUpDatabase,
  statement: Statement<Row>,
) {
  const accounts = new LRUCache<string, string>({ max: MAX_REMEMBERED });
  /** Of the owners with look-ups under way: how many, and what gathers them. */
  const readers = new Map<string, { underWay: number; read(key: string): Promise<Row | undefined> }>();

  async function readFor(owner: string, key: string): Promise<Row | undefined> {
    let known = readers.get(owner);
    if (known === undefined) {
      const read = lookUp(readsOf(database, owner), statement, ({ hash }: Row) => byteaText(hash));
      known = { underWay: 0, read };
      readers.set(owner, known);
    }
    known.underWay += 1;
    try {
      return await known.read(key);
    } finally {
      known.underWay -= 1;
      if (known.underWay === 0) readers.delete(owner);
    }
  }

  return async (hash: Uint8Array, owner?: string): Promise<Row | undefined> => {
    const key = byteaText(hash);
    const row = await readFor(owner ?? accounts.get(key) ?? STRANGERS, key);
    if (row === undefined) accounts.delete(key);
    else accounts.set(key, row.userId);
    return row;
  };
}

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
interface SecretKind extends Pick<LastUseOptions, 'what' | 'table' | 'usedAt' | 'prolongedTo'> {
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
