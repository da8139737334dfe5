import { badInput, quoteValue } from '../../platform/errors.ts';
import { CONTENT_START, FRAME_BYTES, opaqueBytes, opaqueText } from '../../platform/ids.ts';
import { type ListOrder, ORDERS, type RequestedRows } from './entity.ts';

/** A row of a list. */
export interface Position {
  readonly createdAt: Date;
  readonly updatedAt?: Date;
  readonly id: string;
}

/** A position in a list. It stays valid when its row is deleted. */
export interface CursorPosition {
  readonly at: Date;
  readonly id: string;
}

const TIME_BYTES = 8;
const ID_START = CONTENT_START + TIME_BYTES;
const ID_BYTES = 16;
const BYTES = FRAME_BYTES + TIME_BYTES + ID_BYTES;
/** The years -1 to 9999 in milliseconds, a little more than DateTime has. `Date.UTC(0, 0)` would mean 1900. */
const MIN_TIME = Date.UTC(-1, 0);
const MAX_TIME = Date.UTC(10_000, 0);

/** Cursors of the order that a list has by default have no mark. */
const markOf = (order: ListOrder | undefined): number => (order === undefined ? 0 : ORDERS[order].mark);

/** Encodes the position of a row as an opaque string of 36 characters that is safe in URLs. */
export function encodeCursor(row: Position, order?: ListOrder): string {
  const { [propertyOf(order)]: at = row.createdAt, id } = row;
  const bytes = Buffer.alloc(BYTES);
  writeTime(bytes, at.getTime(), markOf(order));
  bytes.write(id.replaceAll('-', ''), ID_START, 'hex');
  return opaqueText(bytes);
}

/** The property whose timestamp orders a list. All orders that lists have by default are by `createdAt`. */
export const propertyOf = (order: ListOrder | undefined) => ORDERS[order ?? 'newest-first'].property;

/** SQL of a position for `cursorOfPosition`: the binary forms of timestamp and id, in base64. */
export const cursorPositionSql = (row: string, order: ListOrder | undefined): string =>
  `encode(timestamptz_send(${row}."${propertyOf(order)}") || uuid_send(${row}."id"), 'base64')`;

/** One digit, which `cursorOfPosition` takes in addition to the position. */
export const cursorMark = (order: ListOrder | undefined): string => `${markOf(order)}`;

/** The number of bytes is a multiple of three, so base64 has no padding. */
export const POSITION_CHARACTERS = ((TIME_BYTES + ID_BYTES) / 3) * 4;
export const CURSOR_CHARACTERS = (BYTES / 3) * 4;

/** PostgreSQL sends timestamps in microseconds since 2000. Timestamp columns have milliseconds. */
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0);
const HIGH_HALF = 2 ** 32;
const SCRATCH = Buffer.alloc(BYTES);

export function cursorOfPosition(position: string, mark: string): string {
  SCRATCH.write(position, CONTENT_START, 'base64');
  const high = SCRATCH.readInt32BE(CONTENT_START);
  const microseconds = high * HIGH_HALF + SCRATCH.readUInt32BE(CONTENT_START + 4);
  // Beyond the years 1715 to 2285, a number is not exact. A bigint costs as much as the rest of the cursor.
  const milliseconds = Number.isSafeInteger(microseconds)
    ? microseconds / 1_000
    : Number(SCRATCH.readBigInt64BE(CONTENT_START) / 1_000n);
  writeTime(SCRATCH, milliseconds + POSTGRES_EPOCH_MS, Number(mark));
  return opaqueText(SCRATCH);
}

/** The two highest bytes of a time are its sign, so the mark has room in the first. */
function writeTime(bytes: Buffer, milliseconds: number, mark: number): void {
  bytes.writeInt32BE(Math.floor(milliseconds / HIGH_HALF), CONTENT_START);
  // A remainder has the sign of the dividend.
  bytes.writeUInt32BE(((milliseconds % HIGH_HALF) + HIGH_HALF) % HIGH_HALF, CONTENT_START + 4);
  bytes.writeUInt8(bytes.readUInt8(CONTENT_START) ^ mark, CONTENT_START);
}

/** @throws {ApiError} BAD_USER_INPUT, naming `argument`, for a string that is no cursor of a list in this order */
export function decodeCursor(argument: string, cursor: string, order?: ListOrder): CursorPosition {
  const bytes = opaqueBytes(cursor);
  const error = () =>
    badInput(
      argument,
      `must be a cursor of an earlier response in the same order, but is ${quoteValue(cursor)}.`,
    );
  if (bytes?.length !== BYTES) throw error();
  bytes.writeUInt8(bytes.readUInt8(CONTENT_START) ^ markOf(order), CONTENT_START);
  const time = Number(bytes.readBigInt64BE(CONTENT_START));
  if (time < MIN_TIME || time > MAX_TIME) throw error();
  const hex = bytes.toString('hex', ID_START, ID_START + ID_BYTES);
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  return { at: new Date(time), id };
}

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
export const MAX_OFFSET = 10_000;

/** Conditions on the rows of a list. */
export interface PageFilter {
  /** Only rows that have the id in the property. */
  readonly equal?: { readonly property: string; readonly id: string };
  /** Only rows with all values; see `Entity.filteredBy`. */
  readonly values?: readonly string[];
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  readonly updatedAfter?: Date | undefined;
}

export interface PageRange extends RequestedRows {
  readonly offset: number;
  readonly after?: CursorPosition;
  /** Never set with `after`. */
  readonly before?: CursorPosition;
  /** True for the last `limit` rows, which the database reads from the end of the list. */
  readonly backwards?: boolean;
  /** Undefined for the order of the list. */
  readonly order?: ListOrder | undefined;
  readonly filter?: PageFilter | undefined;
}

/** Where no index has all conditions of a filter, a page reads this many rows for each item. */
const ROWS_PER_ITEM = 5;

/** Doubles from one size to the next, because each size needs a separate statement. */
const roundUp = (offset: number): number => (offset === 0 ? 0 : 2 ** Math.ceil(Math.log2(offset)));

/** The maximum number of rows that a page reads if its rows are checked one by one. */
export const rowsToCheck = (limit: number, offset: number): number =>
  ROWS_PER_ITEM * (limit + roundUp(offset));

export const MAX_COUNT = 10_000;
/** If no index has all conditions of a filter, a longer list is not counted. */
export const MAX_COUNTED_ROWS = 1_000;

function inRange(argument: string, value: number, max: number): number {
  if (value < 0 || value > max) throw badInput(argument, `must be from 0 to ${max}, but is ${value}.`);
  return value;
}

interface ListArguments {
  readonly limit?: number | null | undefined;
  readonly offset?: number | null | undefined;
}

/**
 * Null counts as absent. Values are never clamped.
 * @throws {ApiError} BAD_USER_INPUT
 */
export function parseListPage({ limit, offset }: ListArguments): PageRange {
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
 * `first` is Relay's name for `limit`. `last` pages backwards, and so does `before` alone.
 * @throws {ApiError} BAD_USER_INPUT
 */
export function connectionPage(
  { limit, first, after, last, before }: ConnectionArguments,
  order?: ListOrder,
): PageRange {
  if (limit != null && first != null)
    throw badInput('first', 'is an alias of "limit". Send only one of them.');
  const forwards = first ?? limit;
  if (last != null && forwards != null)
    throw badInput('last', 'cannot be combined with "first" or "limit". Send one of them.');
  if (after != null && before != null)
    throw badInput('before', 'cannot be combined with "after". Send one of them.');
  const backwards = last != null || (before != null && forwards == null);
  const argument = last != null ? 'last' : first != null ? 'first' : 'limit';
  return {
    limit: inRange(argument, last ?? forwards ?? DEFAULT_LIMIT, MAX_LIMIT),
    offset: 0,
    ...(after == null ? {} : { after: decodeCursor('after', after, order) }),
    ...(before == null ? {} : { before: decodeCursor('before', before, order) }),
    ...(backwards ? { backwards } : {}),
    ...(order === undefined ? {} : { order }),
  };
}

/** Finds the end of a page where only an extra row shows if the list continues. Undefined if a cursor shows that. */
export function openEnd({
  after,
  before,
  backwards,
}: PageRange): 'hasNextPage' | 'hasPreviousPage' | undefined {
  if (backwards === true) return after === undefined ? 'hasPreviousPage' : undefined;
  return before === undefined ? 'hasNextPage' : undefined;
}

/** `more` is true if the list continues at the open end of the page. */
export function endsOf(page: PageRange, more: boolean) {
  const open = openEnd(page);
  return {
    hasNextPage: open === 'hasNextPage' ? more : page.before !== undefined,
    hasPreviousPage: open === 'hasPreviousPage' ? more : page.after !== undefined,
  };
}
