import type { GraphQLField, GraphQLSchema } from 'graphql';
import { isInterfaceType, isObjectType } from 'graphql';

/** The most items that a counted argument takes. */
export const MAX_ITEMS = 100;

interface Counting {
  readonly countedArgument?: string;
}

/**
 * Options of a field whose selection is read once per item of an argument, a list of ids (contract section 5).
 * Without the argument, as often as it may have items. Further items cost nothing: the resolver refuses them.
 */
export const costsPerItemOf = <Name extends string>(argument: Name) => ({
  extensions: { countedArgument: argument } satisfies Counting,
  complexity: (args: { readonly [Given in Name]?: readonly unknown[] | null }) => ({
    field: 1,
    multiplier: Math.min(args[argument]?.length ?? MAX_ITEMS, MAX_ITEMS),
  }),
});

/** The name of the argument whose items multiply the cost of a field. */
export const countedArgument = ({ extensions }: GraphQLField<unknown, unknown>): string | undefined =>
  (extensions as Counting).countedArgument;

const known = new WeakMap<GraphQLSchema, ReadonlySet<string>>();

/** The names of all such arguments. */
export function countedArguments(schema: GraphQLSchema): ReadonlySet<string> {
  let names = known.get(schema);
  if (names === undefined) {
    const types = Object.values(schema.getTypeMap()).filter(
      (type) => isObjectType(type) || isInterfaceType(type),
    );
    const fields = types.flatMap((type) => Object.values(type.getFields()));
    names = new Set(fields.flatMap((field) => countedArgument(field) ?? []));
    known.set(schema, names);
  }
  return names;
}
