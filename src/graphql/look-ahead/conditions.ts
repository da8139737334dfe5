import { type ASTVisitor, type GraphQLResolveInfo, Kind, visit } from 'graphql';

/** The variables that @skip and @include of an operation look at: a plan holds for one choice of them. */
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

/**
 * The choice that variables make, as a key; undefined where a condition is null, which is no choice but a mistake that
 * an execution tells of.
 */
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
