import { GraphQLFloat, GraphQLSchema } from 'graphql';
import { builder } from './graphql/builder.ts';
import './graphql/node/queries.ts';
import './modules/user/queries.ts';
import './modules/account/edges.ts';
import './modules/account/mutations.ts';
import './modules/post/queries.ts';
import './modules/post/mutations.ts';
import './modules/post/subscriptions.ts';
import './modules/comment/edges.ts';
import './modules/comment/mutations.ts';

/** The executable schema, built from the types that the modules register. */
export function buildSchema(): GraphQLSchema {
  const { types, ...config } = builder.toSchema().toConfig();
  // Introspection must not return an unreferenced built-in scalar (GraphQL, section 3.5).
  return new GraphQLSchema({ ...config, types: types.filter(({ name }) => name !== GraphQLFloat.name) });
}
