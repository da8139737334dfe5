import type { LRUCache } from 'lru-cache';
import { lookUp } from '../auth/look-up.ts';
import type { Queryable, Statement } from '../platform/db/statement.ts';

export interface KnownPublishedOptions<Row extends { readonly key: string }, Value extends object | true> {
  readonly database: Queryable;
  /** Those of some keys that are published, with what a value is made of. */
  readonly find: Statement<Row>;
  /** Those of some keys that are published. */
  readonly check: Statement<{ readonly key: string }>;
  readonly toValue: (row: Row) => Value;
  readonly kept: LRUCache<string, Value>;
  /** Whether this process hears at once of what is retired. */
  readonly hears: () => boolean;
}

/** What is published under keys, as far as this process has asked for it. */
export interface KnownPublished<Value> {
  /** The value of a key, at once if it is known; undefined if there is none. Rejects with DatabaseError. */
  get(key: string): Value | Promise<Value | undefined>;
  /** Whether it is known to be published, if nothing was retired a moment ago. */
  knows(key: string): boolean;
  /** Calls `onRetired` once a recheck finds that the key is published no more. Returns what ends that. */
  watch(key: string, onRetired: () => void): () => void;
  /** Looks which of all known and watched keys are published still. Rejects with DatabaseError. */
  recheck(): Promise<void>;
}

/**
 * What was found is kept until it is retired, which other processes tell. What was not found is asked for anew each time,
 * so that it is there as soon as it is published; many at once share a statement.
 */
export function createKnownPublished<Row extends { readonly key: string }, Value extends object | true>(
  options: KnownPublishedOptions<Row, Value>,
): KnownPublished<Value> {
  const { database, find, check, toValue, kept, hears } = options;
  const watched = new Map<string, Set<() => void>>();
  /** What was read before a recheck began may have been retired since. */
  let rechecks = 0;

  const read = lookUp(database, find, (row) => row.key);

  async function readAndKeep(key: string): Promise<Value | undefined> {
    const asked = rechecks;
    const row = await read(key);
    if (row === undefined) return undefined;
    const value = toValue(row);
    if (asked === rechecks) kept.set(key, value);
    return value;
  }

  async function recheck(): Promise<void> {
    rechecks += 1;
    const keys = [...new Set([...kept.keys(), ...watched.keys()])];
    if (keys.length === 0) return;
    const published = new Set((await database.query(check, [keys])).map(({ key }) => key));
    for (const key of keys) {
      if (published.has(key)) continue;
      kept.delete(key);
      for (const onRetired of [...(watched.get(key) ?? [])]) onRetired();
    }
  }

  return {
    get(key) {
      const value = hears() ? kept.get(key) : undefined;
      return value ?? readAndKeep(key);
    },
    knows: (key) => kept.has(key),
    watch(key, onRetired) {
      const streams = watched.get(key) ?? new Set();
      watched.set(key, streams.add(onRetired));
      return () => {
        streams.delete(onRetired);
        if (streams.size === 0 && watched.get(key) === streams) watched.delete(key);
      };
    },
    recheck,
  };
}
