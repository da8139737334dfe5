import { type DocumentNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql';

/** How much work merging the fields of a document is. */
export interface Overlaps {
  /** Its fields, each as often as fragments bring it in. Counting ends a little beyond the ceiling. */
  readonly fields: number;
  /** Pairs of fields with one response name, and of fragments, in one selection: validation compares each. */
  readonly overlaps: number;
}

const pairsOf = (count: number) => (count * (count - 1)) / 2;

/**
 * Counts what validation's rule on overlapping fields (GraphQL section 5.3.2) would compare. Its effort grows with the
 * square of the repetitions: a text of a thousand tokens could hold it up for longer than a large query runs.
 * The fragments form no circle.
 */
export function countOverlaps(
  { definitions }: DocumentNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  maxFields: number,
): Overlaps {
  let fields = 0;
  let overlaps = 0;

  /** Selections that end up in one place of the response. */
  function merge(sets: readonly SelectionSetNode[]): void {
    const found = new Map<string, { count: number; sets: SelectionSetNode[] }>();
    const spreads = new Set<string>();

    function collect({ selections }: SelectionSetNode): void {
      for (const node of selections) {
        if (fields > maxFields) return;
        if (node.kind === Kind.FIELD) {
          fields += 1;
          const name = node.alias?.value ?? node.name.value;
          let same = found.get(name);
          if (same === undefined) {
            same = { count: 0, sets: [] };
            found.set(name, same);
          }
          same.count += 1;
          if (node.selectionSet !== undefined) same.sets.push(node.selectionSet);
        } else if (node.kind === Kind.INLINE_FRAGMENT) collect(node.selectionSet);
        else if (!spreads.has(node.name.value)) {
          spreads.add(node.name.value);
          const fragment = fragments.get(node.name.value);
          if (fragment !== undefined) collect(fragment.selectionSet);
        }
      }
    }

    for (const set of sets) collect(set);
    overlaps += pairsOf(spreads.size);
    for (const { count, sets: inner } of found.values()) {
      overlaps += pairsOf(count);
      if (inner.length > 0) merge(inner);
    }
  }

  for (const definition of definitions)
    if (definition.kind === Kind.OPERATION_DEFINITION || definition.kind === Kind.FRAGMENT_DEFINITION)
      merge([definition.selectionSet]);
  return { fields, overlaps };
}
