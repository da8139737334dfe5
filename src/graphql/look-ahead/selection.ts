import {
  type DirectiveNode,
  type ExecutionArgs,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type VariableValues,
} from 'graphql';

type Variables = Readonly<Record<string, unknown>>;

export const NO_VARIABLES: VariableValues = { sources: {}, coerced: {} };

/** The values of an operation's variables, coerced; undefined if one is invalid, an error that an execution reports. */
export function variablesOf(
  { schema, variableValues }: ExecutionArgs,
  { variableDefinitions = [] }: OperationDefinitionNode,
): VariableValues | undefined {
  if (variableDefinitions.length === 0) return NO_VARIABLES;
  return getVariableValues(schema, variableDefinitions, variableValues ?? {}).variableValues;
}

/**
 * Whether @skip and @include keep a selection (GraphQL section 3.13). A condition without a Boolean value keeps it:
 * validation or execution reports that.
 */
export function isIncluded(directives: readonly DirectiveNode[] = [], variables: Variables): boolean {
  return directives.every(({ name, arguments: args = [] }) => {
    if (name.value !== 'skip' && name.value !== 'include') return true;
    const condition = args.find((argument) => argument.name.value === 'if')?.value;
    if (condition?.kind === Kind.VARIABLE) return variables[condition.name.value] !== (name.value === 'skip');
    return condition?.kind !== Kind.BOOLEAN || condition.value !== (name.value === 'skip');
  });
}

/** The values of these variables as a key; undefined if one is null, an error that an execution reports. */
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

/** Whether a fragment on this type applies to an object: it is its own type or an interface that it implements. */
const applies = (type: GraphQLObjectType, condition: string): boolean =>
  condition === type.name || type.getInterfaces().some(({ name }) => name === condition);

/**
 * The fields selected on an object, by response name, ordered and merged as by GraphQL's CollectFields
 * (section 6.3.2). The schema has no unions.
 */
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
