import {
  type DirectiveNode,
  type ExecutionArgs,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
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
