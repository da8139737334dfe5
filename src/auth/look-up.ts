import { LRUCache } from 'lru-cache';
import type { Database } from '../platform/db/database.ts';
import { gathered } from '../platform/db/gathered.ts';
import type { Queryable, Statement } from '../platform/db/statement.ts';
import { ownedBy } from './owned-by.ts';
import { byteaText } from './secret-format.ts';

/** The part of a database that look-ups use. */
export type LookUpDatabase = Queryable & Pick<Database, 'cancellable'>;

const MAX_REMEMBERED = 10_000;
/** All look-ups of secrets that nobody has shown before share one owner's turns on the database (decision 16). */
const STRANGERS = 'unknown credentials';

/** Reads rows by key, many in one statement. */
function reader<Row>(db: Queryable, statement: Statement<Row>, keyOf: (row: Row) => string) {
  return gathered(async (keys: readonly string[]) => {
    const found = new Map((await db.query(statement, [keys])).map((row) => [keyOf(row), row]));
    return keys.map((key) => found.get(key));
  });
}

/** Looks credentials up by id. Undefined if there is none. Rejects with DatabaseError. */
export function lookUpById<Row extends { readonly id: string }>(db: Queryable, statement: Statement<Row>) {
  return reader(db, statement, ({ id }) => id);
}

/**
 * Looks credentials up by the hash of their secret. Those that were found before go first: anybody can make up others.
 * Undefined if there is none. Rejects with DatabaseError.
 */
export function lookUpByHash<Row extends { readonly hash: Uint8Array }>(
  database: LookUpDatabase,
  statement: Statement<Row>,
) {
  const remembered = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  const keyOf = ({ hash }: Row) => byteaText(hash);
  const known = reader(database, statement, keyOf);
  const strange = reader(
    { query: (sql, values) => ownedBy(database, STRANGERS).query(sql, values) },
    statement,
    keyOf,
  );
  return async (hash: Uint8Array): Promise<Row | undefined> => {
    const key = byteaText(hash);
    const row = await (remembered.has(key) ? known : strange)(key);
    if (row === undefined) remembered.delete(key);
    else remembered.set(key, true);
    return row;
  };
}
