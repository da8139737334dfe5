import pg from 'pg';
import { instantText } from './instant.ts';
import {
  type Column,
  type Prepared,
  type PreparedBudget,
  PreparedStatements,
} from './prepared-statements.ts';
import type { Parameter, Statement } from './statement.ts';

/** The part of `pg` that custom query classes such as pg-cursor use. Its types omit it. */
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

const connections = new WeakMap<WireConnection, PreparedStatements>();

function preparedOn(connection: WireConnection): PreparedStatements {
  let found = connections.get(connection);
  if (found === undefined) {
    found = new PreparedStatements();
    connections.set(connection, found);
  }
  return found;
}

/** A bigint column as a number: ids of this service stay far below 2^53. */
const INT8 = 20;

function parserOf(oid: number): Column['parse'] {
  return oid === INT8 ? Number : (pg.types.getTypeParser(oid, 'text') as Column['parse']);
}

const quoted = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** A parameter in PostgreSQL's text format; bytes stay as they are. */
function encode(value: Parameter): string | Buffer | null {
  if (value === null || typeof value === 'string') return value;
  if (value instanceof Date) return instantText(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (typeof value === 'object')
    return `{${value.map((item) => (typeof item === 'string' ? quoted(item) : item)).join()}}`;
  return String(value);
}

/**
 * A statement for a connection of `pg`. Unlike pg's own Query, it asks for the columns only when a connection
 * first runs a prepared statement, which saves a message in each direction afterwards. It is not an event
 * emitter.
 */
export class NamedQuery<Row> {
  /** The name of the prepared statement; empty for an unnamed one. `pg` reads it. */
  name = '';
  readonly text: string;
  readonly #statement: Statement<Row>;
  readonly #values: readonly Parameter[];
  readonly #budget: PreparedBudget | undefined;
  /** SQL to run first, in the same round trip and transaction. */
  readonly #before: string | undefined;
  #isBefore: boolean;
  #columns: readonly Column[] = [];
  #connection: WireConnection | undefined;
  /** Undefined if the statement has no name. */
  #prepared: Prepared | undefined;
  readonly #rows: Row[] = [];
  #failure: unknown;
  callback: (error: unknown, rows: Row[]) => void;

  /** Without a budget, the statement is not prepared by name. The rows of `before` are ignored. */
  constructor(
    statement: Statement<Row>,
    values: readonly Parameter[],
    {
      budget,
      before,
    }: { readonly budget?: PreparedBudget | undefined; readonly before?: string | undefined },
    callback: (error: unknown, rows: Row[]) => void,
  ) {
    this.text = statement.text;
    this.#statement = statement;
    this.#values = values;
    this.#budget = budget;
    this.#before = before;
    this.#isBefore = before !== undefined;
    this.callback = callback;
  }

  submit(connection: WireConnection): Error | null {
    const values = this.#values.map(encode);
    this.#connection = connection;
    connection.stream.cork();
    try {
      // Everything up to Sync is one transaction (PostgreSQL, "Extended Query"), so settings made first
      // apply.
      if (this.#before !== undefined) {
        connection.parse({ name: '', text: this.#before });
        connection.bind({ statement: '', values: [] });
        connection.execute({});
      }
      if (this.#budget !== undefined) this.#prepared = this.#prepare(connection, this.#budget);
      const { name, text } = this;
      if (name === '' || connection.parsedStatements[name] === undefined) connection.parse({ name, text });
      connection.bind({ statement: name, values });
      if (this.#prepared?.columns === undefined) connection.describe({ type: 'P' });
      else this.#columns = this.#prepared.columns;
      connection.execute({});
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
    return null;
  }

  /** Finds or adds the prepared statement within the budget. Closes evicted ones in the same round trip. */
  #prepare(connection: WireConnection, budget: PreparedBudget): Prepared | undefined {
    const { name } = this.#statement;
    const all = preparedOn(connection);
    const known = all.use(name);
    if (known === undefined) {
      const weight = budget.weigh(this.#statement);
      if (weight === undefined) return undefined;
      for (const gone of all.add(name, weight, budget.share)) {
        delete connection.parsedStatements[gone];
        connection.close({ type: 'S', name: gone });
      }
    }
    this.name = name;
    return known ?? all.use(name);
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    if (this.#isBefore) return;
    const row: Record<string, unknown> = {};
    try {
      for (const [index, { name, parse }] of this.#columns.entries()) {
        const text = fields[index];
        row[name] = text == null ? null : parse(text);
      }
    } catch (error) {
      this.#failure ??= error;
    }
    this.#rows.push(row as Row);
  }

  handleCommandComplete(): void {
    this.#isBefore = false;
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}

  handleError(error: unknown): void {
    const connection = this.#connection;
    // A statement that failed after parsing is still prepared and still counts.
    if (connection !== undefined && this.name !== '' && connection.parsedStatements[this.name] === undefined)
      preparedOn(connection).remove(this.name);
    this.callback(error, []);
  }

  handleReadyForQuery(): void {
    if (this.#prepared !== undefined) this.#prepared.columns = this.#columns;
    this.callback(this.#failure, this.#rows);
  }
}
