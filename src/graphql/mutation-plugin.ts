import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import { clearAllDataLoaders } from '@pothos/plugin-dataloader';
import type { GraphQLFieldResolver } from 'graphql';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { type Context, unitOfWorkOf } from './context.ts';
import type { OneStatement } from './one-statement.ts';
import { type RowLocks, takeRowLocks } from './row-locks.ts';

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      mutations: MutationPlugin<Types>;
    }
    interface FieldOptions {
      /** Does what the resolver does, for a field of a mutation that writes with a single statement. */
      oneStatement?: OneStatement;
      /** What the field of a mutation locks. Without it: nothing that another one waits for. */
      locks?: RowLocks;
    }
  }
}

interface Options {
  readonly oneStatement?: OneStatement;
  readonly locks?: RowLocks;
}

/** Those whose first root field has been reached. */
const begun = new WeakSet<UnitOfWork>();

/**
 * Root fields of a mutation: before the first of them what they name is locked. Then what loaders have cached is forgotten before each, since it must see what those before it
 * wrote. Each may fail the whole (contract section 9, "A mutation is all or nothing"): none may be null, so that an
 * error in one leaves no data, and the unit of work is rolled back. `tests/contract/mutations.test.ts` keeps that so.
 */
class MutationPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { oneStatement, locks } = config.pothosOptions as Options;
    if (oneStatement === undefined && locks === undefined) return config;
    return { ...config, extensions: { ...config.extensions, oneStatement, locks } };
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { kind }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (kind !== 'Mutation') return resolve;
    return async (parent, args, context, info) => {
      clearAllDataLoaders(context);
      const own = context as unknown as Context;
      const work = unitOfWorkOf(own);
      if (!begun.has(work)) {
        begun.add(work);
        await takeRowLocks(work, info, own);
      }
      return resolve(parent, args, context, info);
    };
  }
}

SchemaBuilder.registerPlugin('mutations', MutationPlugin);
