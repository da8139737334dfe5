import { type GraphQLResolveInfo, getArgumentValues, Kind } from 'graphql';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import type { Context } from './context.ts';
import { collectFields } from './look-ahead/collect.ts';

/** What a field of a mutation is about to lock, as its arguments name it. */
export interface NamedRow {
  readonly kind: LockKind;
  /** The row's id, or that of a row below it; undefined where the argument names none. */
  readonly id: string | undefined;
  /** The kind of the row below that the id is of. */
  readonly below?: string;
  /** Whether the row is to be deleted, which takes the strongest lock. */
  readonly deleted?: boolean;
}

/** A kind of rows. Whoever locks several kinds takes those with the lower rank first. */
export interface LockKind {
  readonly rank: number;
  /** Locks all the rows in one order, in one statement, until the unit of work ends. Throws DatabaseError. */
  take(work: UnitOfWork, rows: readonly NamedRow[], context: Context): Promise<void>;
}

/** The rows that a field will lock. What the arguments are wrong about is for the resolver to say. */
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
      // A field whose arguments don't fit fails when its turn comes, and undoes the others: it locks nothing.
    }
  }
  return rows;
}

/**
 * Locks what the root fields of a mutation name, before the first of them runs: in the order of their ids and not of the
 * document, so that two operations never wait for each other (decision 14). A field alone takes its one lock itself.
 */
export async function takeRowLocks(work: UnitOfWork, info: Info, context: Context): Promise<void> {
  if (hasOneField(info)) return;
  const rows = namedRows(info).filter(({ id }) => id !== undefined);
  if (rows.length < 2) return;
  const kinds = [...new Set(rows.map(({ kind }) => kind))].sort((a, b) => a.rank - b.rank);
  for (const kind of kinds)
    await kind.take(
      work,
      rows.filter((row) => row.kind === kind),
      context,
    );
}
