import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import { clearAllDataLoaders } from '@pothos/plugin-dataloader';
import type { GraphQLFieldResolver } from 'graphql';
import { type Context, unitOfWorkOf } from './context.ts';

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      mutations: MutationPlugin<Types>;
    }
  }
}

/**
 * Root fields of a mutation: each runs in the unit of work so that a failed one undoes its own writes only, and what
 * loaders have cached is forgotten after each, since the next one must see what it wrote.
 */
class MutationPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
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
