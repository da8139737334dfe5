import {
  type DocumentNode,
  type GraphQLField,
  type GraphQLSchema,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { prune } from './operation-limits/prune.ts';
import type { Variables } from './variables.ts';

export type SchemaField = GraphQLField<unknown, unknown>;

/** An operation of a request, with its variables as they came. */
export interface AskedOperation {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly variables: Variables;
}

/** The fields that an operation asks for, at any depth, of those that a test takes. */
export type AskedFields = (
  asked: AskedOperation,
  test: (field: SchemaField) => boolean,
) => readonly SchemaField[];

/**
 * Looks through whole operations for fields of the schema. What `@skip` and `@include` leave out is not asked for; the
 * variables are looked at only where a document has such a field at all.
 */
export function createAskedFields(schema: GraphQLSchema): AskedFields {
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
  const mentioned = new WeakMap<DocumentNode, ReadonlySet<SchemaField>>();
  return ({ document, operation, variables }, test) => {
    let possible = mentioned.get(document);
    if (possible === undefined) {
      possible = fieldsOf(document);
      mentioned.set(document, possible);
    }
    if (![...possible].some(test)) return [];
    return [...fieldsOf(prune(schema, document, operation, variables))].filter(test);
  };
}
