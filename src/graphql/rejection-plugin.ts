import SchemaBuilder, { BasePlugin, type SchemaTypes } from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      rejections: RejectionPlugin<Types>;
    }
  }
}

/**
 * Turns exceptions of resolvers into rejections. If an item of a list throws, graphql-js drops the promises
 * of earlier items. If one of them were rejected later, nobody would handle the rejection, and the process
 * would end.
 */
class RejectionPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    return (parent, args, context, info) => {
      try {
        return resolve(parent, args, context, info);
      } catch (error) {
        return Promise.reject(error);
      }
    };
  }
}

SchemaBuilder.registerPlugin('rejections', RejectionPlugin);
