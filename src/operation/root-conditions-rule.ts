import {
  type DirectiveNode,
  type DocumentNode,
  GraphQLError,
  Kind,
  OperationTypeNode,
  type SelectionSetNode,
} from 'graphql';
import type { Fragments } from '../graphql/operation-plans.ts';

const CONDITIONS: ReadonlySet<string> = new Set(['skip', 'include']);

/**
 * The `@skip` and `@include` directives at a root, also in fragments. Each fragment is followed once, since
 * fragments may form a cycle.
 */
function conditionsAt(fragments: Fragments, root: SelectionSetNode): DirectiveNode[] {
  const seen = new Set<string>();
  const collect = ({ selections }: SelectionSetNode): DirectiveNode[] =>
    selections.flatMap((selection) => {
      const own = (selection.directives ?? []).filter(({ name }) => CONDITIONS.has(name.value));
      if (selection.kind === Kind.FIELD) return own;
      if (selection.kind === Kind.INLINE_FRAGMENT) return [...own, ...collect(selection.selectionSet)];
      const name = selection.name.value;
      if (seen.has(name)) return own;
      seen.add(name);
      const fragment = fragments[name];
      return fragment === undefined ? own : [...own, ...collect(fragment.selectionSet)];
    });
  return collect(root);
}

/**
 * Rejects subscriptions with a conditional root field (GraphQL, September 2025, section 5.2.4.1). graphql-js
 * 16 has no rule for it: it throws on a condition it cannot evaluate and on a root without fields.
 */
export function subscriptionConditions(
  document: DocumentNode,
  fragments: Fragments,
): readonly GraphQLError[] {
  return document.definitions.flatMap((node) => {
    if (node.kind !== Kind.OPERATION_DEFINITION || node.operation !== OperationTypeNode.SUBSCRIPTION)
      return [];
    const nodes = conditionsAt(fragments, node.selectionSet);
    return nodes.length === 0
      ? []
      : [new GraphQLError('The root field of a subscription must not have @skip or @include.', { nodes })];
  });
}
