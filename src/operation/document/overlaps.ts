import { type DocumentNode, Kind, type SelectionSetNode } from 'graphql';
import type { Fragments } from '../../graphql/operation-plans.ts';

/** The cost of merging a document's fields. */
export interface Overlaps {
  /** Fields with fragments expanded. Counting stops shortly after the limit. */
  readonly fields: number;
  /**
   * Pairs within one selection that validation compares: fields with the same response name, and fragments.
   */
  readonly pairs: number;
}

/** The pairs among so many. */
export const pairsOf = (count: number) => (count * (count - 1)) / 2;

/**
 * Counts the comparisons of validation's rule on overlapping fields (GraphQL section 5.3.2). They grow with
 * the square of the repetitions: validating a text of a thousand tokens could take longer than running a
 * large query. The fragments must not form a cycle.
 */
export function countOverlaps(
  { definitions }: DocumentNode,
  fragments: Fragments,
  maxFields: number,
): Overlaps {
  let fields = 0;
  let pairs = 0;

  /** Merges the selections of one place in the response. */
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
          const fragment = fragments[node.name.value];
          if (fragment !== undefined) collect(fragment.selectionSet);
        }
      }
    }

    for (const set of sets) collect(set);
    pairs += pairsOf(spreads.size);
    for (const { count, sets: inner } of found.values()) {
      pairs += pairsOf(count);
      if (inner.length > 0) merge(inner);
    }
  }

  for (const definition of definitions)
    if (definition.kind === Kind.OPERATION_DEFINITION || definition.kind === Kind.FRAGMENT_DEFINITION)
      merge([definition.selectionSet]);
  return { fields, pairs };
}
