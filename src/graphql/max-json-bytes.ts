import { type GraphQLField, type GraphQLObjectType, GraphQLString, getNullableType } from 'graphql';

/** A character takes that much in JSON at most: a control character is `\u0000`. */
const MAX_BYTES_A_CHARACTER = 6;
/** Numbers, booleans, instants and UUIDs with their quotes are shorter. */
const MAX_SHORT_BYTES = 64;

declare global {
  export namespace PothosSchemaTypes {
    interface FieldOptions {
      /** How many characters a text has at most, which tells before it is read how large an answer can be. */
      maxCharacters?: number;
    }
  }
}

/** The bytes that the value of a leaf field takes in JSON at most; infinite where nobody has said how long its text is. */
export function maxJsonBytes({ type, extensions }: GraphQLField<unknown, unknown>): number {
  const { maxCharacters } = extensions as { maxCharacters?: number };
  if (maxCharacters !== undefined) return MAX_BYTES_A_CHARACTER * maxCharacters + 2;
  const leaf = getNullableType(type);
  return leaf === GraphQLString ? Number.POSITIVE_INFINITY : MAX_SHORT_BYTES;
}

const known = new WeakMap<GraphQLObjectType, Map<string, number>>();

/** The same for a property of the rows behind a type: the field that shows it, or is named like it, says so. */
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
