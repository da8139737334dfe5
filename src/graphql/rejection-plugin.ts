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
 * What a resolver throws becomes a rejection. In a list graphql-js lets go of the promises of earlier items where a later
 * one throws: one of them that is rejected afterwards would be nobody's, and end the process.
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
