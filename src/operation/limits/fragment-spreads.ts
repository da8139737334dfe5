import type { Outline, Spread } from './selections.ts';

export interface SpreadOut {
  /** The spread with which a fragment comes back to itself (GraphQL section 5.5.2.2). */
  readonly circle: Spread | undefined;
  /** The depth of the one operation, with its fragments; 0 where there are several. */
  readonly depth: number;
}

/** Follows the fragments of a document through what they spread, each once. */
export function spreadOut(outlines: readonly Outline[]): SpreadOut {
  const fragments = new Map(outlines.map((outline) => [outline.fragment, outline]));
  const depths = new Map<Outline, number | 'open'>();
  let circle: Spread | undefined;

  function depthOf(outline: Outline): number {
    depths.set(outline, 'open');
    let depth = outline.depth;
    for (const spread of outline.spreads) {
      const fragment = fragments.get(spread.name);
      if (fragment === undefined) continue;
      const known = depths.get(fragment);
      if (known === 'open') circle = spread;
      const inner = known === 'open' ? 0 : (known ?? depthOf(fragment));
      if (circle !== undefined) break;
      depth = Math.max(depth, spread.depth + inner);
    }
    depths.set(outline, depth);
    return depth;
  }

  const operations = outlines.filter(({ fragment }) => fragment === undefined);
  const [operation] = operations;
  const depth = operation === undefined || operations.length > 1 ? 0 : depthOf(operation);
  for (const outline of outlines) if (circle === undefined && !depths.has(outline)) depthOf(outline);
  return { circle, depth };
}
