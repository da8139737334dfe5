import { type GraphQLResolveInfo, getArgumentValues, Kind } from 'graphql';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import type { Context } from './context.ts';
import { collectFields } from './look-ahead/selection.ts';

/** A row that a mutation will lock, as its arguments name it. */
export interface NamedRow {
  readonly kind: LockKind;
  /** The id of the row or of a row below it; undefined if the argument is not a valid id. */
  readonly id: string | undefined;
  /** If the id is that of a row below, the kind of that row. */
  readonly below?: string;
  /** Whether the row will be deleted, which needs the strongest lock. */
  readonly deleted?: boolean;
}

/** A kind of rows. Kinds with a lower rank are locked first. */
export interface LockKind {
  readonly rank: number;
  /** Locks all rows in one order, in one statement, until the unit of work ends. Throws DatabaseError. */
  take(work: UnitOfWork, rows: readonly NamedRow[], context: Context): Promise<void>;
}

/** The rows that a field will lock. Invalid arguments are left to the resolver to report. */
export type RowLocks = (args: Record<string, unknown>) => readonly NamedRow[];

type Info = Pick<GraphQLResolveInfo, 'operation' | 'fragments' | 'schema' | 'variableValues' | 'parentType'>;

function hasOneField({ operation: { selectionSet } }: Info): boolean {
  return selectionSet.selections.length === 1 && selectionSet.selections[0]?.kind === Kind.FIELD;
}

function namedRows(info: Info): NamedRow[] {
  const fields = info.parentType.getFields();
  const rows: NamedRow[] = [];
  for (const [node] of collectFields(info, info.parentType, [info.operation.selectionSet]).values()) {
    const field = node && fields[node.name.value];
    const locks = field?.extensions.locks as RowLocks | undefined;
    if (node === undefined || field === undefined || locks === undefined) continue;
    try {
      rows.push(...locks(getArgumentValues(field, node, info.variableValues)));
    } catch {
      // A field with invalid arguments fails when it runs and rolls back the others. It locks nothing.
    }
  }
  return rows;
}

/**
 * Locks the rows that the root fields of a mutation name, before the first field runs. They are locked in the
 * order of their ids, not of the document, so that two operations never deadlock (decision 14), and before anything
 * is written, so that the events of a row are in the order of its changes. If there is only one root field, it takes its
 * one lock itself.
 */
export async function takeRowLocks(work: UnitOfWork, info: Info, context: Context): Promise<void> {
  if (hasOneField(info)) return;
  const rows = namedRows(info).filter(({ id }) => id !== undefined);
  if (rows.length === 0) return;
  const kinds = [...new Set(rows.map(({ kind }) => kind))].sort((a, b) => a.rank - b.rank);
  for (const kind of kinds)
    await kind.take(
      work,
      rows.filter((row) => row.kind === kind),
      context,
    );
}
