import { type DirectiveNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

function addVariables(names: Set<string>, directives: readonly DirectiveNode[]): void {
  for (const { arguments: args = [] } of directives)
    for (const { value } of args) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
}

function addBelow(names: Set<string>, { selections }: SelectionSetNode): void {
  for (const node of selections) {
    if (node.directives !== undefined) addVariables(names, node.directives);
    if (node.kind !== Kind.FRAGMENT_SPREAD && node.selectionSet !== undefined)
      addBelow(names, node.selectionSet);
  }
}

/** The variables in @skip and @include of an operation. A plan is valid for one choice of their values. */
export function conditionVariables({
  operation,
  fragments,
}: Pick<GraphQLResolveInfo, 'operation' | 'fragments'>): string[] {
  const names = new Set<string>();
  addBelow(names, operation.selectionSet);
  for (const { selectionSet } of Object.values(fragments)) addBelow(names, selectionSet);
  return [...names];
}

/** The values of these variables as a key; undefined if one is null, an error that an execution reports. */
export function choiceOf(
  conditions: readonly string[],
  variables: Readonly<Record<string, unknown>>,
): string | undefined {
  let key = '';
  for (const name of conditions) {
    const value = variables[name];
    if (value === null) return undefined;
    key += value === true ? '1' : '0';
  }
  return key;
}
