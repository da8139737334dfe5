import type { Outline, Spread } from './selections.ts';

export interface SpreadOut {
  /** The spread that closes a fragment cycle (GraphQL section 5.5.2.2). */
  readonly circle: Spread | undefined;
  /** Depth of the only operation, fragments included; 0 if there are several. */
  readonly depth: number;
}

/** Follows the fragment spreads of a document, visiting each fragment once. */
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
