import { GraphQLFloat, GraphQLSchema } from 'graphql';
import { ENDINGS, ENDINGS_OF_PASSWORD } from './endings.ts';
import { FEATURES } from './features.ts';
import type { Builder } from './graphql/builder.ts';
import { removeIntrospectionExperiments } from './graphql/introspection-types.ts';
import { createKernel } from './graphql/kernel.ts';
import { checkFields } from './graphql/look-ahead/check-fields.ts';
import { defineNodeQueries } from './graphql/node/queries.ts';
import { defineModules } from './modules/define.ts';
import { RULES, type Rules } from './modules/rules.ts';

removeIntrospectionExperiments();

const featureFields = await Promise.all(FEATURES.map(({ fields }) => fields()));

/** Defines all types under these rules. */
export function defineTypes(rules: Rules = RULES) {
  const kernel = createKernel();
  defineNodeQueries(kernel);

  const types = defineModules(kernel, rules, { all: ENDINGS, ofPassword: ENDINGS_OF_PASSWORD });
  for (const define of featureFields) define(kernel, types.user, rules);
  return { kernel, ...types };
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
