import type { Statement } from './statement.ts';

/** A column of a result, and what makes a value of its text. */
export interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/** A statement that a connection has prepared, or is about to. */
export interface Prepared {
  readonly weight: number;
  /** Undefined until the server has said what they are. They cannot change: PostgreSQL refuses that. */
  columns: readonly Column[] | undefined;
  /** When it was used last, as a count of uses. */
  lastUse: number;
}

const MIB = 1_048_576;
/** What a backend may keep prepared, in bytes of its memory, and what all backends of a pool may together. */
const CONNECTION_BYTES = 16 * MIB;
const POOL_BYTES = 128 * MIB;
/** No statement may take more than this part of a connection's share: it would drive everything else out. */
const LARGEST_PART = 1 / 8;

/**
 * What PostgreSQL keeps for a prepared statement with its generic plan: the tree and the plan grow with the text, 80 to
 * 165 bytes a character for the statements of look-ahead.
 */
const BYTES_A_STATEMENT = 8_192;
const BYTES_A_CHARACTER = 170;

/** So many names are remembered, or twice that, in the order in which they were met. */
const MAX_REMEMBERED = 1_000;

/** About how many bytes a backend needs to keep a statement prepared. */
function weightOf({ text }: Statement<unknown>): number {
  return BYTES_A_STATEMENT + BYTES_A_CHARACTER * text.length;
}

/**
 * What the connections of a pool may keep prepared. A client can make up statements without end, each of its own
 * selection, and a backend keeps in its memory what it has prepared for as long as it lives: only what comes again gets
 * a name, by its weight, within a share for each connection.
 */
export class PreparedBudget {
  /** Bytes for one connection. */
  readonly share: number;
  #recent = new Set<string>();
  #older = new Set<string>();

  constructor(connections: number) {
    this.share = Math.min(CONNECTION_BYTES, Math.floor(POOL_BYTES / connections));
  }

  /** The weight of a statement that is worth preparing: run before, not long ago, and not too large. */
  weigh(statement: Statement<unknown>): number | undefined {
    const weight = weightOf(statement);
    if (weight > this.share * LARGEST_PART || !this.#meet(statement.name)) return undefined;
    return weight;
  }

  /** Remembers the name. Whether it was known before. */
  #meet(name: string): boolean {
    if (this.#recent.has(name)) return true;
    const known = this.#older.has(name);
    this.#recent.add(name);
    if (this.#recent.size >= MAX_REMEMBERED) {
      this.#older = this.#recent;
      this.#recent = new Set();
    }
    return known;
  }
}

/** What one connection has prepared. */
export class PreparedStatements {
  readonly #prepared = new Map<string, Prepared>();
  #weight = 0;
  #uses = 0;

  /** The statement of that name, which counts as used; undefined where it is not prepared. */
  use(name: string): Prepared | undefined {
    const found = this.#prepared.get(name);
    this.#uses += 1;
    if (found !== undefined) found.lastUse = this.#uses;
    return found;
  }

  /** Adds a statement. Returns the names of those that must go for it, not used for longest first. */
  add(name: string, weight: number, share: number): string[] {
    const gone: string[] = [];
    while (this.#weight + weight > share && this.#prepared.size > 0) {
      const oldest = this.#oldest();
      this.remove(oldest);
      gone.push(oldest);
    }
    this.#prepared.set(name, { weight, columns: undefined, lastUse: this.#uses });
    this.#weight += weight;
    return gone;
  }

  remove(name: string): void {
    this.#weight -= this.#prepared.get(name)?.weight ?? 0;
    this.#prepared.delete(name);
  }

  #oldest(): string {
    let oldest = '';
    let lastUse = Number.POSITIVE_INFINITY;
    for (const [name, prepared] of this.#prepared) {
      if (prepared.lastUse >= lastUse) continue;
      oldest = name;
      ({ lastUse } = prepared);
    }
    return oldest;
  }
}
