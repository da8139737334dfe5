import type { Context } from './schema.ts';
import { byAge, MADE_TEXT, type Place } from './state.ts';
import { badInput, type Fault, refuse } from './wrong.ts';

/** The arguments of lists and connections. Null equals absent. */
export interface PageArguments {
  readonly limit?: number | null;
  readonly first?: number | null;
  readonly offset?: number | null;
  readonly after?: string | null;
}

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
export const MAX_OFFSET = 10_000;
/** Contract section 1: of nodes. */
export const MAX_IDS = 100;

const rangeFaults = (argument: string, value: number | null | undefined, max: number): Fault[] =>
  value != null && (value < 0 || value > max) ? [badInput(argument)] : [];

export const sizeFaults = ({ limit, first, offset }: PageArguments): Fault[] => [
  ...rangeFaults('limit', limit, MAX_LIMIT),
  ...rangeFaults('first', first, MAX_LIMIT),
  ...rangeFaults('offset', offset, MAX_OFFSET),
  ...(limit != null && first != null ? [badInput('limit'), badInput('first')] : []),
];

/** A page of a list that is in order. */
export function slice<Row>(rows: readonly Row[], args: PageArguments): readonly Row[] {
  const from = args.offset ?? 0;
  return rows.slice(from, from + (args.limit ?? DEFAULT_LIMIT));
}

/** A page of a connection over rows that are in order: the newest first where `descending`. */
export function connection<Row extends Place>(
  rows: readonly Row[],
  args: PageArguments,
  { cursors, places }: Pick<Context, 'cursors' | 'places'>,
  { descending = false, faults = [] }: { readonly descending?: boolean; readonly faults?: readonly Fault[] },
) {
  const place = args.after == null ? undefined : places.get(args.after);
  const bad = args.after != null && place === undefined ? [badInput('after')] : [];
  refuse([...sizeFaults(args), ...bad, ...faults]);
  const rest = rows.filter((row) => {
    if (place === undefined) return true;
    return descending ? byAge(row, place) < 0 : byAge(row, place) > 0;
  });
  const nodes = rest.slice(0, args.first ?? args.limit ?? DEFAULT_LIMIT);
  const edges = nodes.map((node) => ({ node, cursor: cursors.get(node.id) ?? MADE_TEXT }));
  return {
    nodes,
    edges,
    pageInfo: {
      hasNextPage: rest.length > nodes.length,
      hasPreviousPage: args.after != null,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}
