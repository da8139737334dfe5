import type { GraphQLResolveInfo, OperationDefinitionNode, SelectionSetNode } from 'graphql';
import { Kind } from 'graphql';

type Fragments = GraphQLResolveInfo['fragments'];

/** How much of the graph an operation names. */
export interface Width {
  /** Fields with a selection of their own, each as often as fragments bring it in. */
  readonly objects: number;
  /** The names of all fields. */
  readonly names: ReadonlySet<string>;
}

/**
 * PostgreSQL takes about 70 µs to plan each subquery of a statement, however few rows it reads, and a text never seen
 * before is planned each time. Beyond so many it is cheaper to read level by level, with statements that are always
 * the same.
 */
const MOST_OBJECTS = 100;

const widths = new WeakMap<OperationDefinitionNode, Width>();

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

/** The width of an operation that validation and the limits have let through: its fragments form no circle. */
export function widthOf(operation: OperationDefinitionNode, fragments: Fragments): Width {
  let width = widths.get(operation);
  if (width === undefined) {
    width = measure(operation, fragments);
    widths.set(operation, width);
  }
  return width;
}

/** Whether an operation is too wide for look-ahead: resolvers and loaders read it. */
export function isTooWide(operation: OperationDefinitionNode, fragments: Fragments): boolean {
  return widthOf(operation, fragments).objects > MOST_OBJECTS;
}
