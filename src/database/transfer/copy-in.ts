import { OperatorError } from '../../platform/errors.ts';
import { applyPending, holdMigrations, migrateTo } from '../migrate.ts';
import { findContent, listColumns, qualify, readTables, type Table } from './catalog.ts';
import type { Endpoint } from './endpoints.ts';
import { type Contents, Digests, readPieces, type Snapshot } from './snapshot.ts';

class TransferError extends OperatorError {}

interface CopyInOptions extends Snapshot {
  /** The target must be in a transaction with the session settings of the service. */
  readonly target: Endpoint;
  readonly schema: string;
  /** The source of the data, as the subject of a message. */
  readonly origin: string;
}

/** @throws {TransferError} unless migrations have given both endpoints the same columns. */
function findCommon(
  origin: string,
  source: Contents['tables'],
  target: readonly Table[],
): Contents['tables'] {
  const shapes = new Map(
    target.map(({ name, columns }) => [name, columns.map((each) => `"${each.name}" ${each.type}`)]),
  );
  const common = source.filter(({ name }) => shapes.has(name));
  for (const { name, columns } of common) {
    const known = shapes.get(name) ?? [];
    const other = columns.map((each) => `"${each.name}" ${each.type}`).find((one) => !known.includes(one));
    if (other !== undefined || known.length !== columns.length)
      throw new TransferError(
        `${origin} has other columns in table "${name}" than its migrations create (${other ?? `${columns.length} instead of ${known.length}`}). Nothing was copied. Undo the change in the database, then copy again.`,
      );
    shapes.delete(name);
  }
  const [missing] = shapes.keys();
  if (missing !== undefined)
    throw new TransferError(
      `${origin} lacks table "${missing}", which its migrations create. Nothing was copied.`,
    );
  return common;
}

async function copyRows(
  { target, schema, origin, contents, pieces }: CopyInOptions,
  tables: readonly Table[],
): Promise<Digests> {
  const digests = new Digests();
  const into = new Map(
    tables.map((table) => [table.name, `${qualify(schema, table.name)} (${listColumns(table)})`]),
  );
  for await (const piece of pieces) {
    const columns = into.get(piece.table);
    digests.add(piece);
    if (columns !== undefined) await target.copyIn(columns, piece.data);
    else if (!contents.tables.some(({ name }) => name === piece.table))
      throw new TransferError(
        `${origin} has rows of table "${piece.table}", which its list of tables lacks. Nothing was copied.`,
      );
  }
  return digests;
}

/** @throws {TransferError} unless the target has the copied rows. */
async function compare({ target, schema }: CopyInOptions, tables: readonly Table[], copied: Digests) {
  const digests = new Digests();
  for await (const piece of readPieces(target, schema, tables)) digests.add(piece);
  for (const { name } of tables) {
    const [{ rows, sum }, found] = [copied.get(name), digests.get(name)];
    if (rows !== found.rows || sum !== found.sum)
      throw new TransferError(
        `The copy of table "${name}" differs from the original (${rows} rows became ${found.rows}, or their content differs). Nothing was copied. Report this bug.`,
      );
  }
  return tables
    .map(({ name }) => ({ name, rows: copied.get(name).rows }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const forEach = async (endpoint: Endpoint, tables: readonly Table[], sql: (table: Table) => string) => {
  for (const table of tables) await endpoint.rows(sql(table));
};

/**
 * Creates the tables by the migrations of the snapshot, copies and compares all rows, and applies pending
 * migrations. The caller commits, or rolls back if `copyIn` throws.
 * @throws {TransferError | MigrationError} and the errors of the target.
 */
export async function copyIn(options: CopyInOptions) {
  const { target, schema, contents, origin } = options;
  await holdMigrations(target);
  const found = await findContent(target, schema);
  if (found !== undefined)
    throw new TransferError(
      `The target is not empty: its schema "${schema}" has the ${found}. Nothing was copied. Name an empty database, or another schema with ?schema=NAME.`,
    );
  await migrateTo(target, schema, contents.migrations, origin);
  const tables = findCommon(origin, contents.tables, await readTables(target, schema));
  const toQualifiedName = ({ name }: Table) => qualify(schema, name);
  // The copied rows include the effects of triggers, such as comment counts.
  await forEach(target, tables, (table) => `ALTER TABLE ${toQualifiedName(table)} DISABLE TRIGGER USER`);
  const copied = await copyRows(options, tables);
  await forEach(target, tables, (table) => `ALTER TABLE ${toQualifiedName(table)} ENABLE TRIGGER USER`);
  for (const { name, last } of contents.sequences)
    if (last !== null)
      await target.rows('SELECT setval(to_regclass($1), $2::text::int8, true)', [
        qualify(schema, name),
        last,
      ]);
  const compared = await compare(options, tables, copied);
  const applied = await applyPending(target);
  // Without ANALYZE, the first plans would be made for empty tables.
  await forEach(target, tables, (table) => `ANALYZE ${toQualifiedName(table)}`);
  return {
    tables: compared,
    /** Tables that no migration has created do not belong to the service. */
    leftOut: contents.tables.flatMap((table) => (tables.includes(table) ? [] : [table.name])),
    applied,
  };
}
