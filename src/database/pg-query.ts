import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { Doorkeeper } from '../platform/cache.ts';
import { encodeParameter, type Query, type Statement } from './statement.ts';

/** Custom query classes such as pg-cursor use this part of `pg`, which its types omit. */
interface WireConnection {
  readonly stream: { cork(): void; uncork(): void };
  readonly parsedStatements: Record<string, string | undefined>;
  close(message: { type: 'S'; name: string }): void;
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: readonly (string | Buffer | null)[] }): void;
  describe(message: { type: 'P' }): void;
  execute(message: object): void;
  sync(): void;
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

interface Prepared {
  readonly bytes: number;
  /**
   * Undefined until the server has described the columns, which PostgreSQL does not let change afterwards.
   */
  columns: readonly Column[] | undefined;
}

const MIB = 1_048_576;
const CONNECTION_BYTES = 16 * MIB;
const POOL_BYTES = 128 * MIB;
/** A larger statement would evict too many others. */
const LARGEST_PART = 1 / 8;

/**
 * PostgreSQL's memory for a prepared statement and its generic plan grows with the SQL, by 80 to 165 bytes
 * for each character of a look-ahead statement.
 */
const BYTES_A_STATEMENT = 8_192;
const BYTES_A_CHARACTER = 170;

/**
 * Clients can cause any number of distinct statements by varying their selections, and a backend keeps each
 * prepared statement in memory. So only repeated statements are prepared, within a budget for each connection
 * (decisions/0010-prepared-statements.md).
 */
export class PreparedBudget {
  readonly connectionBytes: number;
  readonly #seen = new Doorkeeper();

  constructor(connections: number) {
    this.connectionBytes = Math.min(CONNECTION_BYTES, Math.floor(POOL_BYTES / connections));
  }

  /**
   * @returns undefined for a statement that is not worth preparing, because it was not seen recently or is
   * too large.
   */
  bytesOf({ name, text }: Statement<unknown>): number | undefined {
    const bytes = BYTES_A_STATEMENT + BYTES_A_CHARACTER * text.length;
    return bytes <= this.connectionBytes * LARGEST_PART && this.#seen.see(name) ? bytes : undefined;
  }
}

const preparedOn = new WeakMap<WireConnection, LRUCache<string, Prepared>>();

/** The cache closes an evicted statement in the round trip that prepares the next statement. */
function preparedStatements(connection: WireConnection, budget: PreparedBudget): LRUCache<string, Prepared> {
  let found = preparedOn.get(connection);
  if (found === undefined) {
    found = new LRUCache<string, Prepared>({
      maxSize: budget.connectionBytes,
      sizeCalculation: ({ bytes }) => bytes,
      dispose(_prepared, name, reason) {
        if (reason !== 'evict') return;
        delete connection.parsedStatements[name];
        connection.close({ type: 'S', name });
      },
    });
    preparedOn.set(connection, found);
  }
  return found;
}

/** Parses bigint columns as numbers, because ids of this service stay far below 2^53. */
const INT8 = 20;

function findParser(oid: number): Column['parse'] {
  return oid === INT8 ? Number : (pg.types.getTypeParser(oid, 'text') as Column['parse']);
}

interface Step {
  readonly name: string;
  readonly text: string;
  readonly prepared: Prepared | undefined;
  columns: readonly Column[];
  readonly rows: unknown[] | undefined;
}

/**
 * Statements of one round trip run in order, and an error skips all later statements. Unlike pg's Query,
 * NamedQuery requests the columns only when a connection first runs a prepared statement, which saves a
 * message in each direction afterwards.
 */
export class NamedQuery {
  readonly #queries: readonly Query<unknown>[];
  readonly #budget: PreparedBudget | undefined;
  /** SQL to run first, in the same round trip and transaction. */
  readonly #before: string | undefined;
  readonly #steps: Step[] = [];
  #at = 0;
  #connection: WireConnection | undefined;
  #failure: unknown;
  callback: (error: unknown, results: unknown[][]) => void;

  /** Without a budget, statements are not prepared by name. The rows of `before` are ignored. */
  constructor(
    queries: readonly Query<unknown>[],
    {
      budget,
      before,
    }: { readonly budget?: PreparedBudget | undefined; readonly before?: string | undefined },
    callback: (error: unknown, results: unknown[][]) => void,
  ) {
    this.#queries = queries;
    this.#budget = budget;
    this.#before = before;
    this.callback = callback;
  }

  /** `pg` reads the name and the SQL of the statement that is being parsed. */
  get name(): string {
    return this.#steps[this.#at]?.name ?? '';
  }

  get text(): string {
    return this.#steps[this.#at]?.text ?? '';
  }

  submit(connection: WireConnection): Error | null {
    this.#connection = connection;
    const encoded = this.#queries.map(({ values }) => values.map(encodeParameter));
    connection.stream.cork();
    try {
      // Everything up to Sync is one transaction (PostgreSQL, "Extended Query"), so settings that run first
      // apply.
      if (this.#before !== undefined) {
        const text = this.#before;
        this.#steps.push({ name: '', text, prepared: undefined, columns: [], rows: undefined });
        connection.parse({ name: '', text });
        connection.bind({ statement: '', values: [] });
        connection.execute({});
      }
      for (const [index, { statement }] of this.#queries.entries())
        this.#send(connection, statement, encoded[index] ?? []);
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
    return null;
  }

  #send(
    connection: WireConnection,
    statement: Statement<unknown>,
    values: readonly (string | Buffer | null)[],
  ): void {
    const prepared =
      this.#budget === undefined ? undefined : this.#prepare(connection, statement, this.#budget);
    const name = prepared === undefined ? '' : statement.name;
    const { text } = statement;
    this.#steps.push({ name, text, prepared, columns: prepared?.columns ?? [], rows: [] });
    if (name === '' || connection.parsedStatements[name] === undefined) connection.parse({ name, text });
    connection.bind({ statement: name, values });
    if (prepared?.columns === undefined) connection.describe({ type: 'P' });
    connection.execute({});
  }

  #prepare(
    connection: WireConnection,
    statement: Statement<unknown>,
    budget: PreparedBudget,
  ): Prepared | undefined {
    const all = preparedStatements(connection, budget);
    const known = all.get(statement.name);
    if (known !== undefined) return known;
    const bytes = budget.bytesOf(statement);
    if (bytes === undefined) return undefined;
    const prepared: Prepared = { bytes, columns: undefined };
    all.set(statement.name, prepared);
    return prepared;
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    const step = this.#steps[this.#at];
    if (step !== undefined)
      step.columns = fields.map(({ name, dataTypeID }) => ({ name, parse: findParser(dataTypeID) }));
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const step = this.#steps[this.#at];
    if (step?.rows === undefined) return;
    const row: Record<string, unknown> = {};
    try {
      for (const [index, { name, parse }] of step.columns.entries()) {
        const text = fields[index];
        row[name] = text == null ? null : parse(text);
      }
    } catch (error) {
      this.#failure ??= error;
    }
    step.rows.push(row);
  }

  handleCommandComplete(): void {
    this.#at += 1;
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}

  handleError(error: unknown): void {
    const connection = this.#connection;
    // A statement that failed after parsing is still prepared and still counts. The server has skipped later
    // statements.
    if (connection !== undefined)
      for (const { name } of this.#steps.slice(this.#at))
        if (name !== '' && connection.parsedStatements[name] === undefined)
          preparedOn.get(connection)?.delete(name);
    this.callback(error, []);
  }

  handleReadyForQuery(): void {
    const results: unknown[][] = [];
    for (const { prepared, columns, rows } of this.#steps) {
      if (prepared !== undefined) prepared.columns = columns;
      if (rows !== undefined) results.push(rows);
    }
    this.callback(this.#failure, results);
  }
}
