import type { Context } from './schema.ts';
import { byAge, MADE_TEXT, type Place } from './state.ts';
import { badInput, type Fault, reject } from './wrong.ts';

/** The arguments of lists and connections. Null equals absent. */
export interface PageArguments {
  readonly limit?: number | null;
  readonly first?: number | null;
  readonly offset?: number | null;
  readonly after?: string | null;
  readonly last?: number | null;
  readonly before?: string | null;
}

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
export const MAX_OFFSET = 10_000;
/** Contract section 1: of nodes. */
export const MAX_IDS = 100;

const rangeFaults = (argument: string, value: number | null | undefined, max: number): Fault[] =>
  value != null && (value < 0 || value > max) ? [badInput(argument)] : [];

export const sizeFaults = ({ limit, first, last, offset }: PageArguments): Fault[] => [
  ...rangeFaults('limit', limit, MAX_LIMIT),
  ...rangeFaults('first', first, MAX_LIMIT),
  ...rangeFaults('last', last, MAX_LIMIT),
  ...rangeFaults('offset', offset, MAX_OFFSET),
  ...(limit != null && first != null ? [badInput('limit'), badInput('first')] : []),
  ...(last != null && (first ?? limit) != null ? [badInput('last')] : []),
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
  const { after, before, last } = args;
  const placeOf = (cursor: string | null | undefined) => (cursor == null ? undefined : places.get(cursor));
  const [from, to] = [placeOf(after), placeOf(before)];
  reject([
    ...sizeFaults(args),
    ...(after != null && from === undefined ? [badInput('after')] : []),
    ...(before != null && to === undefined ? [badInput('before')] : []),
    ...(after != null && before != null ? [badInput('before')] : []),
    ...faults,
  ]);
  const distance = (row: Row, place: Place) => (descending ? -1 : 1) * byAge(row, place);
  const rest = rows.filter(
    (row) => (from === undefined || distance(row, from) > 0) && (to === undefined || distance(row, to) < 0),
  );
  const forwards = args.first ?? args.limit;
  const backwards = last != null || (before != null && forwards == null);
  const size = last ?? forwards ?? DEFAULT_LIMIT;
  const nodes = backwards ? rest.slice(Math.max(rest.length - size, 0)) : rest.slice(0, size);
  const more = rest.length > nodes.length;
  const edges = nodes.map((node) => ({ node, cursor: cursors.get(node.id) ?? MADE_TEXT }));
  return {
    nodes,
    edges,
    pageInfo: {
      hasNextPage: before != null || (!backwards && more),
      hasPreviousPage: after != null || (backwards && more),
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}
