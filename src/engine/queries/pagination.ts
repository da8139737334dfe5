import { badInput, quoteValue } from '../../platform/errors.ts';
import { CONTENT_START, FRAME_BYTES, opaqueBytes, opaqueText } from '../../platform/ids.ts';

/** A position in the order (createdAt, id). It stays valid when its row is deleted. */
export interface Position {
  readonly createdAt: Date;
  readonly id: string;
}

const TIME_BYTES = 8;
const ID_START = CONTENT_START + TIME_BYTES;
const ID_BYTES = 16;
const BYTES = FRAME_BYTES + TIME_BYTES + ID_BYTES;
/** The years -1 to 9999 in milliseconds, a little more than DateTime has. `Date.UTC(0, 0)` would mean 1900. */
const MIN_TIME = Date.UTC(-1, 0);
const MAX_TIME = Date.UTC(10_000, 0);

/** Encodes the position as an opaque string of 36 characters that is safe in URLs. */
export function encodeCursor({ createdAt, id }: Position): string {
  const bytes = Buffer.alloc(BYTES);
  writeTime(bytes, createdAt.getTime());
  bytes.write(id.replaceAll('-', ''), ID_START, 'hex');
  return opaqueText(bytes);
}

/** SQL of a position for `cursorOfPosition`: the binary forms of timestamp and id, in base64. */
export const cursorPositionSql = (row: string): string =>
  `encode(timestamptz_send(${row}."createdAt") || uuid_send(${row}."id"), 'base64')`;

/** The number of bytes is a multiple of three, so base64 has no padding. */
export const POSITION_CHARACTERS = ((TIME_BYTES + ID_BYTES) / 3) * 4;
export const CURSOR_CHARACTERS = (BYTES / 3) * 4;

/** PostgreSQL sends timestamps in microseconds since 2000. Timestamp columns have milliseconds. */
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0);
const HIGH_HALF = 2 ** 32;
const SCRATCH = Buffer.alloc(BYTES);

export function cursorOfPosition(position: string): string {
  SCRATCH.write(position, CONTENT_START, 'base64');
  const high = SCRATCH.readInt32BE(CONTENT_START);
  const microseconds = high * HIGH_HALF + SCRATCH.readUInt32BE(CONTENT_START + 4);
  // Beyond the years 1715 to 2285, a number is not exact. A bigint costs as much as the rest of the cursor.
  const milliseconds = Number.isSafeInteger(microseconds)
    ? microseconds / 1_000
    : Number(SCRATCH.readBigInt64BE(CONTENT_START) / 1_000n);
  writeTime(SCRATCH, milliseconds + POSTGRES_EPOCH_MS);
  return opaqueText(SCRATCH);
}

function writeTime(bytes: Buffer, milliseconds: number): void {
  bytes.writeInt32BE(Math.floor(milliseconds / HIGH_HALF), CONTENT_START);
  // A remainder has the sign of the dividend.
  bytes.writeUInt32BE(((milliseconds % HIGH_HALF) + HIGH_HALF) % HIGH_HALF, CONTENT_START + 4);
}

/** @throws {ApiError} BAD_USER_INPUT, naming `argument`, for a string that is no cursor of this service */
export function decodeCursor(argument: string, cursor: string): Position {
  const bytes = opaqueBytes(cursor);
  const error = () =>
    badInput(argument, `must be a cursor of an earlier response, but is ${quoteValue(cursor)}.`);
  if (bytes?.length !== BYTES) throw error();
  const time = Number(bytes.readBigInt64BE(CONTENT_START));
  if (time < MIN_TIME || time > MAX_TIME) throw error();
  const hex = bytes.toString('hex', ID_START, ID_START + ID_BYTES);
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  return { createdAt: new Date(time), id };
}

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
export const MAX_OFFSET = 10_000;

export interface PageRange {
  readonly limit: number;
  readonly offset: number;
  readonly after?: Position;
  /** Never set with `after`. */
  readonly before?: Position;
  /** True for the last `limit` rows, which the database reads from the end of the list. */
  readonly backwards?: boolean;
  /** Only rows created later, oldest first in all lists. */
  readonly createdAfter?: Date;
  /** See `Entity.filteredBy`. */
  readonly filterValue?: string;
}

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
export function connectionPage({ limit, first, after, last, before }: ConnectionArguments): PageRange {
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
    ...(after == null ? {} : { after: decodeCursor('after', after) }),
    ...(before == null ? {} : { before: decodeCursor('before', before) }),
    ...(backwards ? { backwards } : {}),
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
