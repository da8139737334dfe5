import { badInput } from '../errors.ts';
import { decodeCursor, type Position } from './cursor.ts';

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
export const MAX_OFFSET = 10_000;

/** Which rows of a list to read. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
  /** Only rows after this position in the list's order. */
  readonly after?: Position;
  /** Only rows before it. Never with `after`. */
  readonly before?: Position;
  /** Whether the page is the last `limit` of these rows, which are then read from the end of the list. */
  readonly backwards?: boolean;
  /** Only rows created after this instant, oldest first regardless of the list's own order. */
  readonly createdAfter?: Date;
  /** Only rows that have this value (`Entity.narrowed`). */
  readonly narrowedTo?: string;
}

function inRange(argument: string, value: number, max: number): number {
  if (value < 0 || value > max) throw badInput(argument, `must be from 0 to ${max}; it is ${value}.`);
  return value;
}

interface ListArguments {
  readonly limit?: number | null | undefined;
  readonly offset?: number | null | undefined;
}

/** The page for `limit` and `offset`; null counts as absent. Throws BAD_USER_INPUT, never clamps. */
export function listPage({ limit, offset }: ListArguments): Page {
  return {
    limit: inRange('limit', limit ?? DEFAULT_LIMIT, MAX_LIMIT),
    offset: inRange('offset', offset ?? 0, MAX_OFFSET),
  };
}

export interface ConnectionArguments {
  readonly limit?: number | null | undefined;
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/**
 * The page for a connection's arguments. `first` is Relay's name for `limit`. `last` pages backwards, and so does `before`
 * alone. Throws BAD_USER_INPUT.
 */
export function connectionPage({ limit, first, after, last, before }: ConnectionArguments): Page {
  if (limit != null && first != null)
    throw badInput('first', 'is an alias of "limit"; give only one of them.');
  const forwards = first ?? limit;
  if (last != null && forwards != null)
    throw badInput('last', 'is the number of items at the end; give either it or "first".');
  if (after != null && before != null) throw badInput('before', 'cannot be combined with "after".');
  const backwards = last != null || (before != null && forwards == null);
  const argument = last != null ? 'last' : first != null ? 'first' : 'limit';
  return {
    limit: inRange(argument, last ?? forwards ?? DEFAULT_LIMIT, MAX_LIMIT),
    offset: 0,
    ...(after == null ? {} : { after: decodeCursor('after', after) }),
    ...(before == null ? {} : { before: decodeCursor('before', before) }),
    ...(backwards ? { backwards } : {}),
  };
}

/** The end of a page where only reading on tells whether its list goes on; undefined if a cursor already says so. */
export function openEnd({ after, before, backwards }: Page): 'hasNextPage' | 'hasPreviousPage' | undefined {
  if (backwards === true) return after === undefined ? 'hasPreviousPage' : undefined;
  return before === undefined ? 'hasNextPage' : undefined;
}

/** Whether the list goes on beyond each end of a page. `more`: whether it does at the open end. */
export function endsOf(page: Page, more: boolean) {
  const open = openEnd(page);
  return {
    hasNextPage: open === 'hasNextPage' ? more : page.before !== undefined,
    hasPreviousPage: open === 'hasPreviousPage' ? more : page.after !== undefined,
  };
}
