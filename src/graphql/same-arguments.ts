import { type ArgumentNode, type FieldNode, Kind, type ValueNode } from 'graphql';

/**
 * Whether two fields have the same arguments (GraphQL section 5.3.2), in any order. Values are compared, not
 * printed: a long text may be compared in each of hundreds of places.
 */
export function haveSameArguments(
  { arguments: some = [] }: FieldNode,
  { arguments: others = [] }: FieldNode,
): boolean {
  return (
    some.length === others.length &&
    some.every(({ name, value }) => {
      const other = others.find((argument: ArgumentNode) => argument.name.value === name.value);
      return other !== undefined && isSameValue(value, other.value);
    })
  );
}

/** A block string is no other form of a string here, nor an object with its fields in another order. */
function isSameValue(a: ValueNode, b: ValueNode): boolean {
  switch (a.kind) {
    case Kind.NULL:
      return b.kind === Kind.NULL;
    case Kind.VARIABLE:
      return b.kind === Kind.VARIABLE && a.name.value === b.name.value;
    case Kind.LIST:
      return (
        b.kind === Kind.LIST &&
        a.values.length === b.values.length &&
        a.values.every((value, index) => isSame(value, b.values[index]))
      );
    case Kind.OBJECT:
      return (
        b.kind === Kind.OBJECT &&
        a.fields.length === b.fields.length &&
        a.fields.every(({ name, value }, index) => {
          const other = b.fields[index];
          return other?.name.value === name.value && isSameValue(value, other.value);
        })
      );
    case Kind.STRING:
      return b.kind === Kind.STRING && a.value === b.value && a.block === b.block;
    default:
      return b.kind === a.kind && b.value === a.value;
  }
}

const isSame = (a: ValueNode, b: ValueNode | undefined) => b !== undefined && isSameValue(a, b);
