import {
  type DirectiveNode,
  type DocumentNode,
  GraphQLError,
  Kind,
  OperationTypeNode,
  type SelectionSetNode,
} from 'graphql';

const CONDITIONS: ReadonlySet<string> = new Set(['skip', 'include']);

/** The `@skip` and `@include` at a root, in fragments too. Each fragment is followed once: they may form a circle. */
function conditionsAt(document: DocumentNode, root: SelectionSetNode): DirectiveNode[] {
  const seen = new Set<string>();
  const collect = ({ selections }: SelectionSetNode): DirectiveNode[] =>
    selections.flatMap((selection) => {
      const own = (selection.directives ?? []).filter(({ name }) => CONDITIONS.has(name.value));
      if (selection.kind === Kind.FIELD) return own;
      if (selection.kind === Kind.INLINE_FRAGMENT) return [...own, ...collect(selection.selectionSet)];
      const name = selection.name.value;
      if (seen.has(name)) return own;
      seen.add(name);
      const fragment = document.definitions.find(
        (node) => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === name,
      );
      return fragment?.kind === Kind.FRAGMENT_DEFINITION ? [...own, ...collect(fragment.selectionSet)] : own;
    });
  return collect(root);
}

/**
 * The errors of subscriptions whose root field is there on a condition only (GraphQL, September 2025, section 5.2.4.1).
 * graphql-js 16 has no rule for it: a condition that it cannot know, and a root without a field, make it throw.
 */
export function subscriptionConditions(document: DocumentNode): readonly GraphQLError[] {
  return document.definitions.flatMap((node) => {
    if (node.kind !== Kind.OPERATION_DEFINITION || node.operation !== OperationTypeNode.SUBSCRIPTION)
      return [];
    const nodes = conditionsAt(document, node.selectionSet);
    return nodes.length === 0
      ? []
      : [new GraphQLError('The root of a subscription takes no condition.', { nodes })];
  });
}
