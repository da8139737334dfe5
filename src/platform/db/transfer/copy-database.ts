import { escapeIdentifier, escapeLiteral } from 'pg';
import { OperatorError } from '../../operator-error.ts';
import { sequencesOf, type Table, tablesOf } from './catalog.ts';
import type { Side, Source, Target } from './side.ts';

/** The data cannot be copied as it is, or was not. */
export class TransferError extends OperatorError {}

/** Called with a table and how many of its bytes have been copied. */
export type Progress = (table: string, bytes: number) => void;

/** A database, and the schema of the tables in it. */
export interface DatabaseSchema<Of extends Side> {
  readonly side: Of;
  readonly schema: string;
}

export interface Transfer {
  /** It must not change meanwhile. */
  readonly source: DatabaseSchema<Source>;
  /** It has the tables of the source, all empty, and is in a transaction. Its session settings are those of the source. */
  readonly target: DatabaseSchema<Target>;
  readonly progress?: Progress | undefined;
}

/** A table that was copied. */
export interface CopiedTable {
  readonly name: string;
  readonly rows: number;
}

/** An embedded database makes the whole answer to a statement before it does anything else. */
const PIECE_BYTES = 4 * 1_048_576;
/** What a row takes beside its values, at least. */
const ROW_BYTES = 32;

const nameIn = (schema: string, name: string) => `${escapeIdentifier(schema)}.${escapeIdentifier(name)}`;
const listOf = ({ columns }: Table) => columns.map(({ name }) => escapeIdentifier(name)).join(', ');

/** Throws TransferError unless both have the same tables with the same columns. */
function refuseDifference(source: readonly Table[], target: readonly Table[]): void {
  const shapeOf = ({ columns }: Table) => columns.map(({ name, type }) => `"${name}" ${type}`);
  const shapes = new Map(target.map((each) => [each.name, shapeOf(each)]));
  for (const each of source) {
    const known = shapes.get(each.name);
    if (known === undefined)
      throw new TransferError(
        `The database has the table "${each.name}", which this version does not know: use the version that has made it, or drop the table if it is your own.`,
      );
    const other = shapeOf(each).find((text) => !known.includes(text));
    if (other !== undefined || known.length !== each.columns.length)
      throw new TransferError(
        `The table "${each.name}" has other columns than this version gives it (${other ?? `${each.columns.length} instead of ${known.length}`}): use the version that has made it, or undo the change.`,
      );
    shapes.delete(each.name);
  }
  const [missing] = shapes.keys();
  if (missing !== undefined)
    throw new TransferError(
      `The database lacks the table "${missing}": its migrations are not what they say.`,
    );
}

/** The length of a value as it is copied, about. That of a text is known without reading it where it is stored apart. */
function lengthOf({ name, type }: Table['columns'][number]): string {
  const column = escapeIdentifier(name);
  return `coalesce(${/^(text|bytea|varchar\b.*)$/.test(type) ? `octet_length(${column})` : `pg_column_size(${column})`}, 0)`;
}

/** Where each piece of a table begins, in order. A piece has about PIECE_BYTES, or one row that has more. */
async function piecesOf({ side, schema }: DatabaseSchema<Side>, { name, columns }: Table): Promise<string[]> {
  const bytes = [ROW_BYTES, ...columns.map(lengthOf)].join(' + ');
  const rows = await side.rows<{ start: string }>(
    `SELECT min(at)::text AS start FROM (
       SELECT ctid AS at, floor(sum(${bytes}) OVER (ORDER BY ctid) / ${PIECE_BYTES}) AS piece FROM ${nameIn(schema, name)}
     ) AS cut GROUP BY piece ORDER BY piece`,
  );
  return rows.map(({ start }) => start);
}

/** Copies the rows of a table, in pieces. */
async function copyRows({ source, target, progress }: Transfer, table: Table): Promise<void> {
  const list = listOf(table);
  const starts = await piecesOf(source, table);
  let bytes = 0;
  for (const [index, start] of starts.entries()) {
    const end = starts[index + 1];
    const piece = await source.side.copyOut(
      `SELECT ${list} FROM ${nameIn(source.schema, table.name)}
       WHERE ctid >= '${start}'${end === undefined ? '' : ` AND ctid < '${end}'`}`,
    );
    await target.side.copyIn(`${nameIn(target.schema, table.name)} (${list})`, piece);
    bytes += piece.length;
    progress?.(table.name, bytes);
  }
}

/** How many rows a table has, and two sums over a digest of each, which do not depend on their order. */
interface Digest {
  readonly rows: string;
  readonly first: string;
  readonly second: string;
}

/** Both servers make the same text of a row: their session settings are the same. */
async function digestOf({ side, schema }: DatabaseSchema<Side>, table: Table): Promise<Digest> {
  const half = (at: number) =>
    `coalesce(sum(('x' || substr(digest, ${at}, 16))::bit(64)::int8::numeric), 0)::text`;
  const [digest] = await side.rows<Digest>(
    `SELECT count(*)::text AS rows, ${half(1)} AS first, ${half(17)} AS second
     FROM (SELECT md5(ROW(${listOf(table)})::text) AS digest FROM ${nameIn(schema, table.name)}) AS digests`,
  );
  if (digest === undefined) throw new Error('a query without groups gave no row');
  return digest;
}

/** Throws TransferError if a table is not the same on both sides. */
async function compare({ source, target }: Transfer, table: Table): Promise<CopiedTable> {
  const there = await digestOf(source, table);
  const here = await digestOf(target, table);
  if (there.rows !== here.rows || there.first !== here.first || there.second !== here.second)
    throw new TransferError(
      `The table "${table.name}" was not copied as it is (${there.rows} rows became ${here.rows}, or their content differs): nothing was kept. Report it.`,
    );
  return { name: table.name, rows: Number(there.rows) };
}

async function copySequences({ source, target }: Transfer): Promise<void> {
  for (const { name, last } of await sequencesOf(source.side, source.schema))
    if (last !== null)
      await target.side.rows(
        `SELECT setval(${escapeLiteral(nameIn(target.schema, name))}::regclass, ${last}, true)`,
      );
}

/**
 * Copies all rows and sequences of one database into another one, and compares the two. What to copy and in what order is
 * read from the source's catalog. Resolves to the tables by name. The caller commits, or rolls back if this throws: TransferError, or what a side throws.
 */
export async function copyDatabase(transfer: Transfer): Promise<CopiedTable[]> {
  const { source, target } = transfer;
  const tables = await tablesOf(source.side, source.schema);
  refuseDifference(tables, await tablesOf(target.side, target.schema));
  const triggers = async (change: 'DISABLE' | 'ENABLE') => {
    for (const { name } of tables)
      await target.side.rows(`ALTER TABLE ${nameIn(target.schema, name)} ${change} TRIGGER USER`);
  };
  // What they would do, such as counting comments, has been done in the source.
  await triggers('DISABLE');
  for (const table of tables) await copyRows(transfer, table);
  await triggers('ENABLE');
  await copySequences(transfer);
  const copied: CopiedTable[] = [];
  for (const table of tables) copied.push(await compare(transfer, table));
  // Otherwise the first plans would be made for empty tables.
  for (const { name } of tables) await target.side.rows(`ANALYZE ${nameIn(target.schema, name)}`);
  return copied.sort((a, b) => (a.name < b.name ? -1 : 1));
}
