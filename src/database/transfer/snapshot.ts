import { hash } from 'node:crypto';
import { type Client, escapeIdentifier } from 'pg';
import { z } from 'zod';
import { readApplied } from '../migrate.ts';
import {
  listColumns,
  qualify,
  readSequences,
  readTables,
  sequenceForm,
  type Table,
  tableForm,
} from './catalog.ts';
import { type Endpoint, pgEndpoint, queryableOn } from './endpoints.ts';

/** Rows in the text format of COPY, one line for each row. */
export interface CopyPiece {
  readonly table: string;
  readonly data: Buffer;
}

/**
 * 4 MiB, because the embedded database writes the whole response to a statement before it runs another
 * statement.
 */
const PIECE_BYTES = 4 * 1_048_576;
const ROW_BYTES = 32;

/** The length is an estimate, so that PostgreSQL need not read a TOASTed string. */
function lengthSql({ name, type }: Table['columns'][number]): string {
  const column = escapeIdentifier(name);
  return `coalesce(${/^(text|bytea|varchar\b.*)$/.test(type) ? `octet_length(${column})` : `pg_column_size(${column})`}, 0)`;
}

interface Start {
  readonly start: string;
  readonly rows: number;
}

/** A piece has about PIECE_BYTES, or one larger row. */
function findStarts(endpoint: Endpoint, from: string, { columns }: Table): Promise<Start[]> {
  const bytes = [ROW_BYTES, ...columns.map(lengthSql)].join(' + ');
  return endpoint.rows(
    `SELECT min(at)::text AS start, count(*)::int AS rows FROM (
       SELECT ctid AS at, floor(sum(${bytes}) OVER (ORDER BY ctid) / ${PIECE_BYTES}) AS piece FROM ${from}
     ) AS cut GROUP BY piece ORDER BY piece`,
  );
}

const NEWLINE = 10;

function countLines(data: Buffer): number {
  let count = 0;
  for (let at = data.indexOf(NEWLINE); at !== -1; at = data.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

/** The transaction of the caller must see one snapshot. */
export async function* readPieces(
  endpoint: Endpoint,
  schema: string,
  tables: readonly Table[],
): AsyncGenerator<CopyPiece> {
  for (const table of tables) {
    const from = qualify(schema, table.name);
    const starts = await findStarts(endpoint, from, table);
    for (const [index, { start, rows }] of starts.entries()) {
      const end = starts[index + 1]?.start;
      const data = await endpoint.copyOut(
        `SELECT ${listColumns(table)} FROM ${from} WHERE ctid >= '${start}'${end === undefined ? '' : ` AND ctid < '${end}'`}`,
      );
      if (countLines(data) !== rows)
        throw new Error(`a copy of ${rows} rows of ${from} has ${countLines(data)}`);
      yield { table: table.name, data };
    }
  }
}

export const contentsForm = z.object({
  migrations: z.array(z.object({ name: z.string(), checksum: z.string() })),
  /** Each table follows the tables that it refers to. */
  tables: z.array(tableForm),
  sequences: z.array(sequenceForm),
});
export type Contents = Readonly<z.infer<typeof contentsForm>>;

export interface Snapshot {
  readonly contents: Contents;
  readonly pieces: AsyncIterable<CopyPiece>;
}

/**
 * Runs `work` on one state of the database, while other clients continue to write.
 * The caller closes the connection if `withSnapshot` throws, which ends the transaction.
 */
export async function withSnapshot<T>(
  client: Client,
  schema: string,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const endpoint = pgEndpoint(client);
  await endpoint.rows(
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0',
  );
  const contents: Contents = {
    migrations: await readApplied(queryableOn(endpoint)),
    tables: await readTables(endpoint, schema),
    sequences: await readSequences(endpoint, schema),
  };
  const result = await work({ contents, pieces: readPieces(endpoint, schema, contents.tables) });
  await endpoint.rows('COMMIT');
  return result;
}

/** `sum` adds up the digests of the rows, so it does not depend on their order. */
export interface TableDigest {
  readonly rows: number;
  readonly sum: string;
}

export class Digests {
  readonly #tables = new Map<string, { rows: number; sum: bigint }>();

  add({ table, data }: CopyPiece): void {
    let { rows, sum } = this.#tables.get(table) ?? { rows: 0, sum: 0n };
    for (let start = 0, end = 0; start < data.length; start = end) {
      end = data.indexOf(NEWLINE, start) + 1 || data.length;
      sum += hash('sha256', data.subarray(start, end), 'buffer').readBigUInt64BE();
      rows += 1;
    }
    this.#tables.set(table, { rows, sum: BigInt.asUintN(64, sum) });
  }

  get(table: string): TableDigest {
    const { rows, sum } = this.#tables.get(table) ?? { rows: 0, sum: 0n };
    return { rows, sum: sum.toString(16).padStart(16, '0') };
  }
}

/** `progress` receives a table and the number of its bytes so far. */
export async function* watchPieces(
  pieces: AsyncIterable<CopyPiece>,
  progress: (table: string, bytes: number) => void,
): AsyncGenerator<CopyPiece> {
  let [last, bytes] = ['', 0];
  for await (const piece of pieces) {
    bytes = piece.table === last ? bytes + piece.data.length : piece.data.length;
    last = piece.table;
    progress(last, bytes);
    yield piece;
  }
}
