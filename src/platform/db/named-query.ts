import pg from 'pg';
import type { Parameter, Statement } from './statement.ts';

/** What `pg` offers to queries of another class than its own, as pg-cursor is: its types leave it out. */
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

/**
 * So many statements stay prepared on a connection, those used last: each selection of a client's makes one, and what a
 * backend has prepared it keeps in its memory for as long as it lives.
 */
export const MAX_PREPARED = 500;

/** A statement that a connection has prepared. Its columns cannot change: PostgreSQL refuses that. */
interface Prepared {
  readonly columns: readonly Column[];
  /** When it was used last, as a count of uses. */
  lastUse: number;
}

const described = new WeakMap<WireConnection, Map<string, Prepared>>();
let uses = 0;

function preparedOn(connection: WireConnection): Map<string, Prepared> {
  let found = described.get(connection);
  if (found === undefined) {
    found = new Map();
    described.set(connection, found);
  }
  return found;
}

/** Lets go of the statement that was not used for longest, if there are as many as may be. */
function makeRoom(connection: WireConnection, prepared: Map<string, Prepared>): void {
  if (prepared.size < MAX_PREPARED) return;
  let oldest = '';
  let lastUse = Number.POSITIVE_INFINITY;
  for (const [name, statement] of prepared) {
    if (statement.lastUse >= lastUse) continue;
    oldest = name;
    ({ lastUse } = statement);
  }
  prepared.delete(oldest);
  delete connection.parsedStatements[oldest];
  connection.close({ type: 'S', name: oldest });
}

/** A bigint column as a number: ids of this service stay far below 2^53. */
const INT8 = 20;

function parserOf(oid: number): Column['parse'] {
  return oid === INT8 ? Number : (pg.types.getTypeParser(oid, 'text') as Column['parse']);
}

/** An instant as PostgreSQL reads it, in years that ISO 8601 signs as well. */
function instant(date: Date): string {
  const text = date.toISOString();
  const year = date.getUTCFullYear();
  if (year >= 1 && year <= 9999) return text;
  const rest = text.slice(text.indexOf('-', 1));
  return year < 1 ? `${String(1 - year).padStart(4, '0')}${rest} BC` : `${year}${rest}`;
}

const quoted = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** A parameter in PostgreSQL's text format, bytes as they are. */
function encode(value: Parameter): string | Buffer | null {
  if (value === null || typeof value === 'string') return value;
  if (value instanceof Date) return instant(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (typeof value === 'object')
    return `{${value.map((item) => (typeof item === 'string' ? quoted(item) : item)).join()}}`;
  return String(value);
}

/**
 * A statement on its way over a connection of `pg`. Unlike pg's own query it asks what the columns are only when a
 * connection first runs the statement, which spares both sides a message each time, and it is no event emitter.
 */
export class NamedQuery<Row> {
  /** Empty where names are not to be used: then it is prepared each time. */
  readonly name: string;
  readonly text: string;
  readonly #values: readonly Parameter[];
  #columns: readonly Column[] = [];
  /** Where it is prepared for the first time. */
  #connection: WireConnection | undefined;
  readonly #rows: Row[] = [];
  #failure: unknown;
  callback: (error: unknown, rows: Row[]) => void;

  constructor(
    { name, text }: Statement<Row>,
    values: readonly Parameter[],
    named: boolean,
    callback: (error: unknown, rows: Row[]) => void,
  ) {
    this.name = named ? name : '';
    this.text = text;
    this.#values = values;
    this.callback = callback;
  }

  submit(connection: WireConnection): Error | null {
    const { name, text } = this;
    const values = this.#values.map(encode);
    const all = preparedOn(connection);
    const prepared = all.get(name);
    connection.stream.cork();
    try {
      if (prepared !== undefined) prepared.lastUse = ++uses;
      else if (name !== '') {
        this.#connection = connection;
        makeRoom(connection, all);
      }
      if (name === '' || connection.parsedStatements[name] === undefined) connection.parse({ name, text });
      connection.bind({ statement: name, values });
      if (prepared === undefined) connection.describe({ type: 'P' });
      else this.#columns = prepared.columns;
      connection.execute({});
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
    return null;
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
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

  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}

  handleError(error: unknown): void {
    this.callback(error, []);
  }

  handleReadyForQuery(): void {
    if (this.#connection !== undefined)
      preparedOn(this.#connection).set(this.name, { columns: this.#columns, lastUse: ++uses });
    this.callback(this.#failure, this.#rows);
  }
}
