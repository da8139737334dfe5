import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import { clearAllDataLoaders } from '@pothos/plugin-dataloader';
import type { GraphQLFieldResolver } from 'graphql';
import type { OneStatement } from './one-statement.ts';

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      mutations: MutationPlugin<Types>;
    }
    interface FieldOptions {
      /** Does what the resolver does, for a field of a mutation that writes with a single statement. */
      oneStatement?: OneStatement;
    }
  }
}

/**
 * Root fields of a mutation: what loaders have cached is forgotten before each, since it must see what those before it
 * wrote. Each may fail the whole (contract section 9, "A mutation is all or nothing"): none may be null, so that an
 * error in one leaves no data, and the unit of work is rolled back. `tests/contract/mutations.test.ts` keeps that so.
 */
class MutationPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { oneStatement } = config.pothosOptions as { oneStatement?: OneStatement };
    if (oneStatement === undefined) return config;
    return { ...config, extensions: { ...config.extensions, oneStatement } };
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { kind }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (kind !== 'Mutation') return resolve;
    return (parent, args, context, info) => {
      clearAllDataLoaders(context);
      return resolve(parent, args, context, info);
    };
  }
}

SchemaBuilder.registerPlugin('mutations', MutationPlugin);
