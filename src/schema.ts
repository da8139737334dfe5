import type { GraphQLSchema } from 'graphql';
import { builder } from './graphql/builder.ts';
import './modules/user/queries.ts';
import './modules/account/edges.ts';
import './modules/account/mutations.ts';
import './modules/post/queries.ts';
import './modules/post/mutations.ts';
import './modules/post/subscriptions.ts';
import './modules/comment/edges.ts';
import './modules/comment/mutations.ts';

/** The executable schema, from the types that the modules have registered. */
export function buildSchema(): GraphQLSchema {
  return builder.toSchema();
}
