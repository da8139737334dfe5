import { type GraphQLField, GraphQLString, getNullableType } from 'graphql';

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
