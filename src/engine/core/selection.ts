import {
  type ArgumentNode,
  type DirectiveNode,
  type ExecutionArgs,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
  type VariableValues,
} from 'graphql';

type Variables = Readonly<Record<string, unknown>>;

export const NO_VARIABLES: VariableValues = { sources: {}, coerced: {} };

/** @returns undefined if a variable is invalid, which an execution reports */
export function variablesOf(
  { schema, variableValues }: ExecutionArgs,
  { variableDefinitions = [] }: OperationDefinitionNode,
): VariableValues | undefined {
  if (variableDefinitions.length === 0) return NO_VARIABLES;
  return getVariableValues(schema, variableDefinitions, variableValues ?? {}).variableValues;
}

/** A condition that is no Boolean value keeps the selection, because validation or execution reports the error. */
export function isIncluded(directives: readonly DirectiveNode[] = [], variables: Variables): boolean {
  return directives.every(({ name, arguments: args = [] }) => {
    if (name.value !== 'skip' && name.value !== 'include') return true;
    const condition = args.find((argument) => argument.name.value === 'if')?.value;
    if (condition?.kind === Kind.VARIABLE) return variables[condition.name.value] !== (name.value === 'skip');
    return condition?.kind !== Kind.BOOLEAN || condition.value !== (name.value === 'skip');
  });
}

/** @returns undefined if a value is null, which an execution reports */
export function choiceOf(conditions: readonly string[], { coerced }: VariableValues): string | undefined {
  let key = '';
  for (const name of conditions) {
    const value = coerced[name];
    if (value === null) return undefined;
    key += value === true ? '1' : '0';
  }
  return key;
}

type Info = Pick<GraphQLResolveInfo, 'fragments' | 'variableValues'>;

const applies = (type: GraphQLObjectType, condition: string): boolean =>
  condition === type.name || type.getInterfaces().some(({ name }) => name === condition);

/** Merges fields like GraphQL's algorithm CollectFields. The schema has no unions. */
export function collectFields(
  { fragments, variableValues: { coerced } }: Info,
  type: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
): Map<string, FieldNode[]> {
  const fields = new Map<string, FieldNode[]>();
  const visited = new Set<string>();
  const walk = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (!isIncluded(selection.directives, coerced)) continue;
      if (selection.kind === Kind.FIELD) {
        const name = selection.alias?.value ?? selection.name.value;
        const known = fields.get(name);
        if (known === undefined) fields.set(name, [selection]);
        else known.push(selection);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const { typeCondition } = selection;
        if (typeCondition === undefined || applies(type, typeCondition.name.value))
          walk(selection.selectionSet);
      } else if (!visited.has(selection.name.value)) {
        visited.add(selection.name.value);
        const fragment = fragments[selection.name.value];
        if (fragment !== undefined && applies(type, fragment.typeCondition.name.value))
          walk(fragment.selectionSet);
      }
    }
  };
  for (const set of sets) walk(set);
  return fields;
}

/** The object has no prototype, because clients choose the names. */
export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

/**
 * Data cached with a document. A file that stores something here declares its member next to its own types, as Pothos
 * plugins do.
 */
export interface OperationPlans {
  readonly fragments: Fragments;
  /** The variables in @skip and @include. A plan is valid for one choice of their values. */
  readonly conditions: readonly string[];
  /** Counts fields with a selection, fragments expanded. */
  readonly nestedFieldCount: number;
  readonly names: ReadonlySet<string>;
}

/**
 * PostgreSQL takes about 70 µs to plan each subquery, even if it reads few rows. Above this number, statements with
 * constant SQL that read level by level are cheaper.
 */
const MAX_NESTED_FIELDS = 100;

/**
 * If true, resolvers and loaders run instead of look-ahead.
 * @param more the number of subqueries that belong to no field with a selection
 */
export const hasTooManyFields = ({ nestedFieldCount }: OperationPlans, more = 0): boolean =>
  nestedFieldCount + more > MAX_NESTED_FIELDS;

/**
 * The order of arguments does not matter (GraphQL specification: Field Selection Merging). Values are compared instead
 * of printed, because a long string may be compared at hundreds of locations.
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

/** Block strings differ from other strings here, and objects with fields in another order differ, as in graphql-js. */
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
