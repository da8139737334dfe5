import { GraphQLFloat, GraphQLSchema } from 'graphql';
import { ENDINGS_OF_PASSWORD } from './endings.ts';
import { FEATURES } from './features.ts';
import type { Builder } from './graphql/builder.ts';
import { createKernel } from './graphql/kernel.ts';
import { checkFields } from './graphql/look-ahead/check-fields.ts';
import { defineNodeQueries } from './graphql/node/queries.ts';
import { defineAccountEdges } from './modules/account/edges.ts';
import { defineAccountMutations } from './modules/account/mutations.ts';
import { defineAccountTypes } from './modules/account/type.ts';
import { defineChangeSubscriptions } from './modules/change/subscriptions.ts';
import { defineChange } from './modules/change/type.ts';
import { defineCommentEdges } from './modules/comment/edges.ts';
import { defineCommentMutations } from './modules/comment/mutations.ts';
import { defineComment } from './modules/comment/type.ts';
import { definePostEdges } from './modules/post/edges.ts';
import { definePostMutations } from './modules/post/mutations.ts';
import { definePostQueries } from './modules/post/queries.ts';
import { definePostSubscriptions } from './modules/post/subscriptions.ts';
import { definePost } from './modules/post/type.ts';
import { RULES, type Rules } from './modules/rules.ts';
import { defineUserQueries } from './modules/user/queries.ts';
import { defineUser } from './modules/user/type.ts';

const featureFields = await Promise.all(FEATURES.map(({ fields }) => fields()));

/** Defines all types under these rules, in the order in which the fields of Query, Mutation and User get them. */
export function defineTypes(rules: Rules = RULES) {
  const kernel = createKernel();
  defineNodeQueries(kernel);

  const user = defineUser(kernel);
  defineUserQueries(kernel, user);

  const account = defineAccountTypes(kernel);
  defineAccountEdges(kernel, user, account, rules.account);
  defineAccountMutations(kernel, user, account, rules.account, ENDINGS_OF_PASSWORD);

  const post = definePost(kernel, user, rules.post);
  definePostEdges(kernel, user, post);
  definePostQueries(kernel, post, rules.post);
  definePostMutations(kernel, post, rules.post);
  definePostSubscriptions(kernel, post);

  const comment = defineComment(kernel, user, post, rules.comment);
  defineCommentEdges(kernel, user, post, comment);
  defineCommentMutations(kernel, comment, rules.comment);

  defineChangeSubscriptions(kernel, defineChange(kernel, post, comment));

  for (const define of featureFields) define(kernel, user, rules);
  return { kernel, post };
}

/**
 * The executable schema of a builder. Throws if a type implements Node and does not say how its nodes are read, or if a
 * field is not declared as `checkFields` demands.
 */
export function schemaOf(builder: Builder): GraphQLSchema {
  const { types, ...config } = builder.toSchema().toConfig();
  // Introspection must not return an unreferenced built-in scalar (GraphQL, section 3.5).
  const schema = new GraphQLSchema({
    ...config,
    types: types.filter(({ name }) => name !== GraphQLFloat.name),
  });
  checkFields(schema);
  return schema;
}

/** The schema of the product under these rules. */
export const buildSchema = (rules: Rules = RULES): GraphQLSchema =>
  schemaOf(defineTypes(rules).kernel.builder);
