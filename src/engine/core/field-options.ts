import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLString,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
} from 'graphql';
import { getOrCreate } from '../../platform/cache.ts';

/** The maximum number of items in a counted argument. */
export const MAX_ITEMS = 100;

interface Counting {
  readonly countedArgument?: string;
}

/**
 * Options of a field whose selection is read once per id in an argument (contract: limits). An absent argument counts
 * as the maximum number of ids. Ids above the maximum cost nothing, because the resolver rejects them.
 */
export const costsPerItemOf = <Name extends string>(argument: Name) => ({
  extensions: { countedArgument: argument } satisfies Counting,
  complexity: (args: { readonly [Given in Name]?: readonly unknown[] | null }) => ({
    field: 1,
    multiplier: Math.min(args[argument]?.length ?? MAX_ITEMS, MAX_ITEMS),
  }),
});

export const countedArgument = ({ extensions }: GraphQLField<unknown, unknown>): string | undefined =>
  (extensions as Counting).countedArgument;

const knownNames = new WeakMap<GraphQLSchema, ReadonlySet<string>>();

export function countedArguments(schema: GraphQLSchema): ReadonlySet<string> {
  return getOrCreate(knownNames, schema, () => {
    const types = Object.values(schema.getTypeMap()).filter(
      (type) => isObjectType(type) || isInterfaceType(type),
    );
    const fields = types.flatMap((type) => Object.values(type.getFields()));
    return new Set(fields.flatMap((field) => countedArgument(field) ?? []));
  });
}

interface Extended {
  readonly extensions?: Readonly<Record<string, unknown>> | null | undefined;
}

/** Stores options in the extensions of a field, where code that inspects the schema finds them. */
export function withOptions<Config extends Extended>(
  config: Config,
  options: Readonly<Record<string, unknown>>,
): Config {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  if (given.length === 0) return config;
  return { ...config, extensions: { ...config.extensions, ...Object.fromEntries(given) } };
}

/** Notes that plugins leave in the extensions of a field. */
interface ValueNotes {
  /** The property of the row that the field shows. */
  readonly pothosExposedField?: string;
  /** The properties of the row, besides `id`, from which the field is computed. */
  readonly columns?: readonly string[];
  /** Returns the value from these properties alone. */
  readonly compute?: (row: object, args: object) => unknown;
}

export const valueNotesOf = ({ extensions }: GraphQLField<unknown, unknown>): ValueNotes => extensions;

/** JSON writes a control character as six bytes, `\u0000`. */
const MAX_BYTES_A_CHARACTER = 6;
/** Numbers, booleans, and timestamps and UUIDs with their quotes are shorter. */
const MAX_SHORT_BYTES = 64;

declare global {
  export namespace PothosSchemaTypes {
    interface FieldOptions {
      /** The maximum length of a string or a list, which bounds the size of a response before anything is read. */
      maxCharacters?: number;
    }
  }
}

export const maxCharactersOf = ({ extensions }: GraphQLField<unknown, unknown>): number | undefined =>
  (extensions as { maxCharacters?: number }).maxCharacters;

export function mayBeLong(field: GraphQLField<unknown, unknown>): boolean {
  const type = getNullableType(field.type);
  return isListType(type) ? isLeafType(getNamedType(type)) : type === GraphQLString;
}

/** The size is infinite for a string or list without `maxCharacters`. */
export function maxJsonBytes(field: GraphQLField<unknown, unknown>): number {
  const maxCharacters = maxCharactersOf(field);
  if (maxCharacters !== undefined) return MAX_BYTES_A_CHARACTER * maxCharacters + 2;
  return mayBeLong(field) ? Number.POSITIVE_INFINITY : MAX_SHORT_BYTES;
}

const knownSizes = new WeakMap<GraphQLObjectType, Map<string, number>>();

/** The limit of a row's property comes from the field that exposes the property or has its name. */
export function maxPropertyBytes(type: GraphQLObjectType, property: string): number {
  const sizes = getOrCreate(knownSizes, type, () => {
    const fields = Object.values(type.getFields());
    return new Map(
      fields.map((field) => [valueNotesOf(field).pothosExposedField ?? field.name, maxJsonBytes(field)]),
    );
  });
  return sizes.get(property) ?? MAX_SHORT_BYTES;
}
