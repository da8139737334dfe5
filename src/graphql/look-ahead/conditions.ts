import { type ASTVisitor, type GraphQLResolveInfo, Kind, visit } from 'graphql';

/** The variables in @skip and @include of an operation. A plan is valid for one choice of their values. */
export function conditionVariables({
  operation,
  fragments,
}: Pick<GraphQLResolveInfo, 'operation' | 'fragments'>): string[] {
  const names = new Set<string>();
  const visitor: ASTVisitor = {
    Directive: ({ arguments: args = [] }) => {
      for (const { value } of args) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
    },
  };
  visit(operation, visitor);
  for (const fragment of Object.values(fragments)) visit(fragment, visitor);
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
