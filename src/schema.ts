import { GraphQLFloat, GraphQLSchema } from 'graphql';
import { builder } from './graphql/builder.ts';
import { nodeTypes } from './graphql/node/node-type.ts';
import './graphql/node/queries.ts';
import './modules/user/queries.ts';
import './modules/account/edges.ts';
import './modules/account/mutations.ts';
import './modules/post/queries.ts';
import './modules/post/mutations.ts';
import './modules/post/subscriptions.ts';
import './modules/comment/edges.ts';
import './modules/comment/mutations.ts';
import './oauth/grant-fields.ts';

/**
 * The executable schema, built from the types that the modules register. Throws if a type implements Node and does not
 * say how its nodes are read.
 */
export function buildSchema(): GraphQLSchema {
  const { types, ...config } = builder.toSchema().toConfig();
  // Introspection must not return an unreferenced built-in scalar (GraphQL, section 3.5).
  const schema = new GraphQLSchema({
    ...config,
    types: types.filter(({ name }) => name !== GraphQLFloat.name),
  });
  nodeTypes(schema);
  return schema;
}
