import type { GraphQLResolveInfo, OperationDefinitionNode, SelectionSetNode } from 'graphql';
import { Kind } from 'graphql';
import type { OperationPlans, Width } from './operation-plans.ts';

type Fragments = GraphQLResolveInfo['fragments'];

/**
 * PostgreSQL takes about 70 µs to plan each subquery, however few rows it reads, and it plans every new text.
 * Above this width it is cheaper to read level by level, with statements whose text is always the same.
 */
const MOST_OBJECTS = 100;

function measure(operation: OperationDefinitionNode, fragments: Fragments): Width {
  const names = new Set<string>();
  const known = new Map<string, number>();

  function count({ selections }: SelectionSetNode): number {
    let objects = 0;
    for (const node of selections) {
      if (node.kind === Kind.FIELD) {
        names.add(node.name.value);
        if (node.selectionSet !== undefined) objects += 1 + count(node.selectionSet);
      } else if (node.kind === Kind.INLINE_FRAGMENT) objects += count(node.selectionSet);
      else objects += spread(node.name.value);
    }
    return objects;
  }

  function spread(name: string): number {
    let objects = known.get(name);
    const fragment = fragments[name];
    if (objects === undefined) {
      objects = fragment === undefined ? 0 : count(fragment.selectionSet);
      known.set(name, objects);
    }
    return objects;
  }

  return { objects: count(operation.selectionSet), names };
}

/** The width of an operation that has passed validation and the limits, so its fragments form no cycle. */
export function widthOf(
  plans: OperationPlans,
  operation: OperationDefinitionNode,
  fragments: Fragments,
): Width {
  plans.width ??= measure(operation, fragments);
  return plans.width;
}

/**
 * Whether an operation is too wide for look-ahead and is left to resolvers and loaders. `more` counts subqueries
 * that are not for a field with a selection.
 */
export function isTooWide(
  plans: OperationPlans,
  operation: OperationDefinitionNode,
  fragments: Fragments,
  more = 0,
): boolean {
  return widthOf(plans, operation, fragments).objects + more > MOST_OBJECTS;
}
