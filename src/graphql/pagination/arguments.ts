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
  /** Only rows created after this instant, oldest first regardless of the list's own order. */
  readonly createdAfter?: Date;
  readonly tag?: string;
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
}

/** The page for a connection's arguments. `first` is Relay's name for `limit`. Throws BAD_USER_INPUT. */
export function connectionPage({ limit, first, after }: ConnectionArguments): Page {
  if (limit != null && first != null)
    throw badInput('first', 'is an alias of "limit"; give only one of them.');
  const size =
    first != null ? inRange('first', first, MAX_LIMIT) : inRange('limit', limit ?? DEFAULT_LIMIT, MAX_LIMIT);
  return after == null
    ? { limit: size, offset: 0 }
    : { limit: size, offset: 0, after: decodeCursor('after', after) };
}
