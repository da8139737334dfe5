import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';
import { Cancellation } from '../platform/db/cancellation.ts';
import type { Database } from '../platform/db/database.ts';
import { gathered } from '../platform/db/gathered.ts';
import type { Queryable, Statement } from '../platform/db/statement.ts';
import { byteaText } from './secret-format.ts';

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
export function lookUpByHash<Row extends { readonly hash: Uint8Array; readonly userId: string }>(
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
