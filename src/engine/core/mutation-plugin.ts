import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import { clearAllDataLoaders } from '@pothos/plugin-dataloader';
import { type GraphQLFieldResolver, type GraphQLResolveInfo, getArgumentValues, Kind } from 'graphql';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import type { Prepare } from './before-transaction.ts';
import { type Context, unitOfWorkOf } from './context.ts';
import { withOptions } from './field-options.ts';
import { collectFields } from './selection.ts';
import type { SingleStatement } from './single-statement.ts';

/** A row that a mutation will lock, as its arguments name the row. */
export interface NamedRow {
  readonly kind: LockKind;
  /** The id of the row or of a row below; undefined if the argument is not a valid id. */
  readonly id: string | undefined;
  /** The kind of the row below, if `id` names such a row. */
  readonly below?: string;
  /** True if the row will be deleted or a unique column changed, which needs the strongest lock. */
  readonly exclusive?: boolean;
}

/** Kinds with a lower rank are locked first. */
export interface LockKind {
  readonly rank: number;
  /**
   * Locks all rows in one order, in one statement.
   * @throws {DatabaseError}
   */
  take(work: UnitOfWork, rows: readonly NamedRow[], context: Context): Promise<void>;
}

/** The resolver reports invalid arguments. */
type RowLocks = (args: Record<string, unknown>) => readonly NamedRow[];

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
      // A field with invalid arguments locks nothing, because it fails and rolls back the other fields.
    }
  }
  return rows;
}

/**
 * Locks the rows that the root fields name, before the first field runs. Rows are locked in the order of the ids, not
 * of the document, so that two operations never deadlock (decisions/0014-lock-ordering.md). The locks precede all
 * writes, so that the events of a row are in the order of its changes. A single root field takes its only lock itself.
 */
async function takeRowLocks(work: UnitOfWork, info: Info, context: Context): Promise<void> {
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

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      mutations: MutationPlugin<Types>;
    }
    interface FieldOptions {
      /** Has the same effect as the resolver. */
      singleStatement?: SingleStatement;
      /** Without this option, a mutation locks nothing that another mutation waits for. */
      locks?: RowLocks;
      /** Runs before the unit of work begins. An operation may select a field with this option only once. */
      prepare?: Prepare;
    }
  }
}

type Options = Pick<PothosSchemaTypes.FieldOptions, 'singleStatement' | 'locks' | 'prepare'>;

const idIn = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'id' in value ? value.id : value;

/** A root field returns the changed object, its id, or true if the object that the argument names existed. */
function changedId(result: unknown, args: object): string | undefined {
  const id = result === true ? idIn(args) : idIn(result);
  return typeof id === 'string' ? id : undefined;
}

const begun = new WeakSet<UnitOfWork>();

/**
 * Clears the loader caches before each field, because the field must see the writes of earlier fields. No root field is
 * nullable, so an error in a field leaves no data and rolls back the unit of work (contract: mutations).
 * `tests/contract/mutations.test.ts` enforces that.
 */
class MutationPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { singleStatement, locks, prepare } = config.pothosOptions as Options;
    return withOptions(config, { singleStatement, locks, prepare });
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { kind }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (kind !== 'Mutation') return resolve;
    return async (parent, args, context, info) => {
      clearAllDataLoaders(context);
      const own = context as Context;
      const work = unitOfWorkOf(own);
      if (!begun.has(work)) {
        begun.add(work);
        await takeRowLocks(work, info, own);
      }
      own.changes?.fields.push(info.fieldName);
      const result: unknown = await resolve(parent, args, context, info);
      const id = changedId(result, args);
      if (id !== undefined) own.changes?.ids.push(id);
      return result;
    };
  }
}

SchemaBuilder.registerPlugin('mutations', MutationPlugin);
