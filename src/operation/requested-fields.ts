import {
  type DocumentNode,
  type FieldNode,
  type FragmentSpreadNode,
  type GraphQLSchema,
  type InlineFragmentNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { stripSkipped } from './limits/strip-skipped.ts';
import type { FieldsOfDocument, PreparedOperation, SchemaField } from './prepared-operation.ts';
import type { Variables } from './variables.ts';

/** An operation of a request, with its variables as sent. */
export interface RequestedOperation {
  readonly operation: PreparedOperation;
  readonly variables: Variables;
}

/** The fields an operation selects, at any depth, that pass a test. */
export type RequestedFields = (
  asked: RequestedOperation,
  test: (field: SchemaField) => boolean,
) => readonly SchemaField[];

/**
 * Searches whole operations for fields of the schema. Fields removed by `@skip` and `@include` do not count.
 * Variables are evaluated only if the document contains a matching field at all.
 */
export function createRequestedFields(schema: GraphQLSchema): RequestedFields {
  const fieldsOf = (document: DocumentNode): FieldsOfDocument => {
    const types = new TypeInfo(schema);
    const fields = new Set<SchemaField>();
    let conditional = false;
    const Field = ({ directives = [] }: FieldNode) => {
      const field = types.getFieldDef();
      if (field != null) fields.add(field);
      conditional ||= directives.length > 0;
    };
    const fragment = ({ directives = [] }: InlineFragmentNode | FragmentSpreadNode) => {
      conditional ||= directives.length > 0;
    };
    visit(document, visitWithTypeInfo(types, { Field, InlineFragment: fragment, FragmentSpread: fragment }));
    return { fields, conditional };
  };
  return ({ operation, variables }, test) => {
    const { document, node } = operation;
    document.fields ??= fieldsOf(document.node);
    const { fields: all, conditional } = document.fields;
    if (![...all].some(test)) return [];
    const kept = () => fieldsOf(stripSkipped(schema, document.node, node, variables)).fields;
    // Without a condition, the variables make no difference.
    if (!conditional) operation.fields ??= kept();
    return [...(operation.fields ?? kept())].filter(test);
  };
}
