import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import { clearAllDataLoaders } from '@pothos/plugin-dataloader';
import type { GraphQLFieldResolver } from 'graphql';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { type Context, unitOfWorkOf } from './context.ts';
import { withOptions } from './field-options.ts';
import type { OneStatement } from './one-statement.ts';
import type { Prepare } from './preparation.ts';
import { type RowLocks, takeRowLocks } from './row-locks.ts';

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      mutations: MutationPlugin<Types>;
    }
    interface FieldOptions {
      /** Does the same as the resolver, for a mutation that writes with a single statement. */
      oneStatement?: OneStatement;
      /** The rows that a mutation locks. If absent, it locks nothing that another mutation waits for. */
      locks?: RowLocks;
      /** What a mutation does before its unit of work begins. An operation may then select it only once. */
      prepare?: Prepare;
    }
  }
}

interface Options {
  readonly oneStatement?: OneStatement;
  readonly locks?: RowLocks;
  readonly prepare?: Prepare;
}

const idIn = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'id' in value ? value.id : value;

/** A root field returns what it changed, or its id, or whether there was what its argument names. */
function changedId(result: unknown, args: object): string | undefined {
  const id = result === true ? idIn(args) : idIn(result);
  return typeof id === 'string' ? id : undefined;
}

/** Units of work whose first root field has started. */
const begun = new WeakSet<UnitOfWork>();

/**
 * Before the first root field of a mutation runs, the rows that all root fields name are locked. Before each
 * field, the loader caches are cleared, because the field must see what earlier ones wrote. No root field is
 * nullable, so an error in one leaves no data and the unit of work is rolled back (contract section 9, "A
 * mutation is all or nothing"). `tests/contract/mutations.test.ts` enforces that.
 */
class MutationPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { oneStatement, locks, prepare } = config.pothosOptions as Options;
    return withOptions(config, { oneStatement, locks, prepare });
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
