import {
  type DocumentNode,
  type GraphQLField,
  type GraphQLSchema,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { stripSkipped } from './limits/strip-skipped.ts';
import type { PreparedOperation } from './prepared-operation.ts';
import type { Variables } from './variables.ts';

export type SchemaField = GraphQLField<unknown, unknown>;

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
  const fieldsOf = (document: DocumentNode): ReadonlySet<SchemaField> => {
    const types = new TypeInfo(schema);
    const fields = new Set<SchemaField>();
    const Field = () => {
      const field = types.getFieldDef();
      if (field != null) fields.add(field);
    };
    visit(document, visitWithTypeInfo(types, { Field }));
    return fields;
  };
  return ({ operation: { document, node }, variables }, test) => {
    document.fields ??= fieldsOf(document.node);
    if (![...document.fields].some(test)) return [];
    return [...fieldsOf(stripSkipped(schema, document.node, node, variables))].filter(test);
  };
}
