import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import { clearAllDataLoaders } from '@pothos/plugin-dataloader';
import type { GraphQLFieldResolver } from 'graphql';
import { type Context, unitOfWorkOf } from './context.ts';
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
 * Root fields of a mutation: each runs in the unit of work so that a failed one undoes its own writes only, and what
 * loaders have cached is forgotten after each, since the next one must see what it wrote.
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
    return async (parent, args, context, info) => {
      clearAllDataLoaders(context);
      return unitOfWorkOf(context as unknown as Context).attempt(async () =>
        resolve(parent, args, context, info),
      );
    };
  }
}

SchemaBuilder.registerPlugin('mutations', MutationPlugin);
