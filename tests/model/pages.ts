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

/** A list in order: the rows that an index finds, and a condition that each of them is checked for. */
export interface Listed<Row> {
  readonly rows: readonly Row[];
  readonly check?: ((row: Row) => boolean) | undefined;
}

/** Contract section 5: how many rows are checked for each row of a page. */
const CHECKED = 5;
const MAX_COUNT = 10_000;
const MAX_CHECKED_COUNT = 1_000;

/** A page of a list. Where rows are checked, it may end early. */
export function slice<Row>({ rows, check }: Listed<Row>, args: PageArguments): readonly Row[] {
  const from = args.offset ?? 0;
  const size = args.limit ?? DEFAULT_LIMIT;
  const skipped = from === 0 ? 0 : 2 ** Math.ceil(Math.log2(from));
  const found = check === undefined ? rows : rows.slice(0, CHECKED * (size + skipped)).filter(check);
  return found.slice(from, from + size);
}

interface ConnectionOptions {
  readonly descending?: boolean;
  /** Another order than that of the list, whose cursors only the service knows. */
  readonly reordered?: boolean;
  readonly faults?: readonly Fault[];
}

/** A page of a connection over rows that are in order: the newest first where `descending`. */
export function connection<Row extends Place>(
  { rows, check }: Listed<Row>,
  args: PageArguments,
  { cursors, places }: Pick<Context, 'cursors' | 'places'>,
  { descending = false, reordered = false, faults = [] }: ConnectionOptions,
) {
  const { after, before, last } = args;
  const placeOf = (cursor: string | null | undefined) =>
    cursor == null || reordered ? undefined : places.get(cursor);
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
  const inOrder = <Item>(items: readonly Item[]) => (backwards ? [...items].reverse() : items);
  const most = CHECKED * (size + 1);
  const read = inOrder(rest).map((row, index) => ({
    row,
    matches: check?.(row) !== false,
    isLast: check !== undefined && index === most - 1,
  }));
  const found = (check === undefined ? read : read.slice(0, most)).filter(
    ({ matches, isLast }) => matches || isLast,
  );
  const page = found.slice(0, size + 1);
  const more = page.length > size || page.some(({ isLast }) => isLast);
  const shown = inOrder(page.slice(0, size)).map((one) => ({
    ...one,
    cursor: (reordered ? undefined : cursors.get(one.row.id)) ?? MADE_TEXT,
  }));
  const edges = shown.filter(({ matches }) => matches).map(({ row, cursor }) => ({ node: row, cursor }));
  return {
    nodes: edges.map(({ node }) => node),
    edges,
    pageInfo: {
      hasNextPage: before != null || (!backwards && more),
      hasPreviousPage: after != null || (backwards && more),
      startCursor: shown[0]?.cursor ?? null,
      endCursor: shown.at(-1)?.cursor ?? null,
    },
    get totalCount() {
      reject(check !== undefined && rows.length > MAX_CHECKED_COUNT ? [badInput('filter')] : []);
      return Math.min(check === undefined ? rows.length : rows.filter(check).length, MAX_COUNT);
    },
  };
}
