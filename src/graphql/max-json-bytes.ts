import { type GraphQLField, type GraphQLObjectType, GraphQLString, getNullableType } from 'graphql';

/** The most that a character takes in JSON: a control character is written as `\u0000`. */
const MAX_BYTES_A_CHARACTER = 6;
/** Numbers, booleans, and instants and UUIDs with their quotes are shorter. */
const MAX_SHORT_BYTES = 64;

declare global {
  export namespace PothosSchemaTypes {
    interface FieldOptions {
      /** The maximum length of a text. It bounds the size of a response before anything is read. */
      maxCharacters?: number;
    }
  }
}

/** The maximum size of a leaf field's value in JSON; infinite for a text without `maxCharacters`. */
export function maxJsonBytes({ type, extensions }: GraphQLField<unknown, unknown>): number {
  const { maxCharacters } = extensions as { maxCharacters?: number };
  if (maxCharacters !== undefined) return MAX_BYTES_A_CHARACTER * maxCharacters + 2;
  const leaf = getNullableType(type);
  return leaf === GraphQLString ? Number.POSITIVE_INFINITY : MAX_SHORT_BYTES;
}

const known = new WeakMap<GraphQLObjectType, Map<string, number>>();

/** The same for a property of the rows behind a type, from the field that exposes it or has its name. */
export function maxPropertyBytes(type: GraphQLObjectType, property: string): number {
  let sizes = known.get(type);
  if (sizes === undefined) {
    sizes = new Map();
    for (const field of Object.values(type.getFields())) {
      const { pothosExposedField: shown = field.name } = field.extensions as { pothosExposedField?: string };
      sizes.set(shown, maxJsonBytes(field));
    }
    known.set(type, sizes);
  }
  return sizes.get(property) ?? MAX_SHORT_BYTES;
}
