import {
  type GraphQLField,
  type GraphQLObjectType,
  GraphQLString,
  getNamedType,
  getNullableType,
  isLeafType,
  isListType,
} from 'graphql';

/** The most that a character takes in JSON: a control character is written as `\u0000`. */
const MAX_BYTES_A_CHARACTER = 6;
/** Numbers, booleans, and instants and UUIDs with their quotes are shorter. */
const MAX_SHORT_BYTES = 64;

declare global {
  export namespace PothosSchemaTypes {
    interface FieldOptions {
      /** The maximum length of a text or a list. It bounds the size of a response before anything is read. */
      maxCharacters?: number;
    }
  }
}

export const maxCharactersOf = ({ extensions }: GraphQLField<unknown, unknown>): number | undefined =>
  (extensions as { maxCharacters?: number }).maxCharacters;

/** Whether a field may have a long value: a text or a list of scalars. */
export function mayBeLong(field: GraphQLField<unknown, unknown>): boolean {
  const type = getNullableType(field.type);
  return isListType(type) ? isLeafType(getNamedType(type)) : type === GraphQLString;
}

/** The maximum size of a leaf field's value in JSON; infinite for what may be long and has no `maxCharacters`. */
export function maxJsonBytes(field: GraphQLField<unknown, unknown>): number {
  const maxCharacters = maxCharactersOf(field);
  if (maxCharacters !== undefined) return MAX_BYTES_A_CHARACTER * maxCharacters + 2;
  return mayBeLong(field) ? Number.POSITIVE_INFINITY : MAX_SHORT_BYTES;
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
