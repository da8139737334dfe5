import { GraphQLFloat, GraphQLSchema } from 'graphql';
import { type Builder, removeIntrospectionExperiments } from '../engine/builder/builder.ts';
import { defineNodeQueries } from '../engine/builder/node-queries.ts';
import { createSchemaToolkit, type SchemaToolkit } from '../engine/builder/schema-toolkit.ts';
import { checkFields } from '../engine/queries/check-fields.ts';
import { FEATURES, PASSWORD_CHANGE_REVOCATIONS, REVOCATIONS } from '../features/features.ts';
import { type AccountRevocations, defineAccountMutations } from './account/mutations.ts';
import { defineAccountRelations, defineAccountTypes } from './account/type.ts';
import { defineChange, defineChangeSubscriptions } from './change/type.ts';
import { defineCommentMutations } from './comment/mutations.ts';
import { commentEntity, defineComment, defineCommentRelations } from './comment/type.ts';
import { CONTENT_LIMITS, type ContentLimits } from './content-limits.ts';
import { defineDraftMutations } from './draft/mutations.ts';
import { defineDraft } from './draft/type.ts';
import { definePostMutations } from './post/mutations.ts';
import { definePost, definePostQueries, definePostRelations, definePostSubscriptions } from './post/type.ts';
import { defineTags } from './search/tags.ts';
import { defineSearch } from './search/type.ts';
import { defineUser, defineUserQueries } from './user/type.ts';

/** The order of the calls decides the order of the fields of Query, Mutation and User. */
function defineModules(toolkit: SchemaToolkit, limits: ContentLimits, revocations: AccountRevocations) {
  const user = defineUser(toolkit, limits.profile);
  defineUserQueries(toolkit, user, limits.profile);

  const account = defineAccountTypes(toolkit);
  defineAccountRelations(toolkit, user, account, limits.account);
  defineAccountMutations(toolkit, user, account, limits, revocations);

  const post = definePost(toolkit, user, limits.post);
  definePostRelations(toolkit, user, post, limits.post);
  definePostQueries(toolkit, post, limits.post);
  definePostMutations(toolkit, post, limits.post);
  definePostSubscriptions(toolkit, post);
  defineSearch(toolkit, post, limits);
  defineTags(toolkit, limits.post);

  const comment = defineComment(toolkit, user, post, limits.comment);
  defineCommentRelations(toolkit, user, post, comment);
  defineCommentMutations(toolkit, comment, limits.comment);

  const draft = defineDraft(toolkit, user, limits);
  defineDraftMutations(toolkit, post, draft, limits);

  const entities = {
    comment: { type: comment.Comment, entity: commentEntity },
  };
  defineChangeSubscriptions(toolkit, defineChange(toolkit, post, entities));
  return { user, post };
}

removeIntrospectionExperiments();

const featureFields = await Promise.all(FEATURES.map(({ fields }) => fields()));

export function defineTypes(limits: ContentLimits = CONTENT_LIMITS) {
  const toolkit = createSchemaToolkit();
  defineNodeQueries(toolkit);

  const types = defineModules(toolkit, limits, {
    all: REVOCATIONS,
    onPasswordChange: PASSWORD_CHANGE_REVOCATIONS,
  });
  for (const define of featureFields) define(toolkit, types.user, limits);
  return { toolkit, ...types };
}

/** @throws if a Node type does not say how its nodes are read, or if `checkFields` rejects a field */
export function schemaOf(builder: Builder): GraphQLSchema {
  const { types, ...config } = builder.toSchema().toConfig();
  // Introspection must not return an unreferenced built-in scalar (GraphQL §3.5).
  const schema = new GraphQLSchema({
    ...config,
    types: types.filter(({ name }) => name !== GraphQLFloat.name),
  });
  checkFields(schema);
  return schema;
}

export const buildSchema = (limits: ContentLimits = CONTENT_LIMITS): GraphQLSchema =>
  schemaOf(defineTypes(limits).toolkit.builder);
