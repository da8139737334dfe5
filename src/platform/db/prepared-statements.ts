import { LRUCache } from 'lru-cache';
import { SeenBefore } from '../seen-before.ts';
import type { Statement } from './statement.ts';

/** A column of a result, and the parser for its text. */
export interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/** A statement that a connection has prepared or is about to prepare. */
export interface Prepared {
  readonly weight: number;
  /** Undefined until the server has described them. PostgreSQL does not let them change. */
  columns: readonly Column[] | undefined;
}

const MIB = 1_048_576;
/** Memory for prepared statements, per backend and for all backends of a pool. */
const CONNECTION_BYTES = 16 * MIB;
const POOL_BYTES = 128 * MIB;
/**
 * A statement larger than this part of a connection's share is not prepared: it would evict too many others.
 */
const LARGEST_PART = 1 / 8;

/**
 * Memory that PostgreSQL needs for a prepared statement and its generic plan. Tree and plan grow with the
 * text: 80 to 165 bytes per character for the statements of look-ahead.
 */
const BYTES_A_STATEMENT = 8_192;
const BYTES_A_CHARACTER = 170;

/** The estimated memory of a prepared statement, in bytes. */
function weightOf({ text }: Statement<unknown>): number {
  return BYTES_A_STATEMENT + BYTES_A_CHARACTER * text.length;
}

/**
 * Limits what the connections of a pool keep prepared. Clients can produce any number of distinct statements
 * by varying their selections, and a backend keeps a prepared statement in memory until it is closed. So only
 * repeated statements are prepared, within a memory share for each connection.
 */
export class PreparedBudget {
  /** Bytes for one connection. */
  readonly share: number;
  readonly #seen = new SeenBefore();

  constructor(connections: number) {
    this.share = Math.min(CONNECTION_BYTES, Math.floor(POOL_BYTES / connections));
  }

  /** The weight of a statement worth preparing: seen recently and not too large. Otherwise undefined. */
  weigh(statement: Statement<unknown>): number | undefined {
    const weight = weightOf(statement);
    if (weight > this.share * LARGEST_PART || !this.#seen.see(statement.name)) return undefined;
    return weight;
  }
}

/** What one connection has prepared. */
export class PreparedStatements {
  readonly #prepared: LRUCache<string, Prepared>;
  #evicted: string[] = [];

  constructor(share: number) {
    this.#prepared = new LRUCache({
      maxSize: share,
      sizeCalculation: ({ weight }) => weight,
      dispose: (_prepared, name) => this.#evicted.push(name),
    });
  }

  /** Looks up a statement and marks it as used. Undefined if it is not prepared. */
  use(name: string): Prepared | undefined {
    return this.#prepared.get(name);
  }

  /** Adds a statement. Returns the names of those evicted to make room, least recently used first. */
  add(name: string, prepared: Prepared): readonly string[] {
    this.#evicted = [];
    this.#prepared.set(name, prepared);
    return this.#evicted;
  }

  remove(name: string): void {
    this.#prepared.delete(name);
  }
}
