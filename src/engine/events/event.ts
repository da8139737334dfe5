import { type RowOf, renameColumns } from '../../database/statement.ts';
import { TRACE_SQL } from '../../database/statement-instrumentation.ts';
import { events } from '../../generated/tables.ts';
import { CONTENT_START, FRAME_BYTES, opaqueBytes, opaqueText } from '../../platform/ids.ts';

/**
 * A position in the event log. Sequence numbers have the order of allocation, not of commit: after number 5, a reader
 * may still find 4 from a slower transaction. The order is therefore (transaction id, number), and readers stop at
 * the oldest running transaction. No event can appear later before a position that readers have passed. Transaction
 * ids belong to one server, so events from a dump of another server are in an earlier log epoch
 * (docs/decisions/0029-event-ids.md).
 */
export interface LogPosition {
  readonly logEpoch: number;
  readonly xid: bigint;
  readonly id: number;
}

export function isAfter(a: LogPosition, b: LogPosition): boolean {
  if (a.logEpoch !== b.logEpoch) return a.logEpoch > b.logEpoch;
  return a.xid > b.xid || (a.xid === b.xid && a.id > b.id);
}

export interface ChecksummedPosition extends LogPosition {
  /** In another generation, the event with this number has another checksum of ten bytes. */
  readonly checksum: string;
}

export type EventRecord = RowOf<typeof recordedEvents>;

export const recordedEvents = renameColumns(events, {
  kind: 'kind',
  aggregateId: 'rootId',
  entityId: 'partId',
  authorId: 'ownerId',
  createdAt: 'createdAt',
  trace: 'trace',
});

export interface LogEvent extends EventRecord {
  readonly position: ChecksummedPosition;
}

const TIMESTAMP_DIGITS = 12;
const RANDOM_DIGITS = 8;
export const CHECKSUM_DIGITS = TIMESTAMP_DIGITS + RANDOM_DIGITS;

/**
 * Computes the checksum of an event from the millisecond of its transaction and the last four bytes of its entity's
 * id, which are random (RFC 9562 §5.7). If a log was truncated and continued, the event that now has the number has
 * another checksum.
 */
export function eventChecksum({
  aggregateId,
  entityId,
  createdAt,
}: Pick<EventRecord, 'aggregateId' | 'entityId' | 'createdAt'>): string {
  const timestamp = createdAt.getTime().toString(16).padStart(TIMESTAMP_DIGITS, '0');
  return timestamp + (entityId ?? aggregateId).slice(-RANDOM_DIGITS);
}

export const CHECKSUM_SQL = `lpad(to_hex((extract(epoch FROM created_at) * 1000)::bigint), ${TIMESTAMP_DIGITS}, '0') || right(coalesce(part_id, root_id)::text, ${RANDOM_DIGITS})`;

/**
 * The newest event that was committed but blocked when a reader came. The reader must not get this event or earlier
 * ones, except from the transactions that were running then.
 */
export interface CommittedBefore extends ChecksummedPosition {
  /** The transactions are in descending order and older than the event. */
  readonly running: readonly bigint[];
}

export interface ReaderPosition extends ChecksummedPosition {
  readonly generation: string;
  /** Later events that the reader must not get. Undefined once the reader has passed them. */
  readonly before: CommittedBefore | undefined;
}

function restOf(before: CommittedBefore | undefined, at: LogPosition): CommittedBefore | undefined {
  if (before === undefined || !isAfter(before, at)) return undefined;
  const running = before.running.filter((xid) => xid >= at.xid);
  return running.length === before.running.length ? before : { ...before, running };
}

/** Moves a reader past events that do not match the reader's filter. */
export const advance = (
  { generation, before }: ReaderPosition,
  position: ChecksummedPosition,
): ReaderPosition => ({
  generation,
  ...position,
  before: restOf(before, position),
});

export function pass({ generation, before }: ReaderPosition, { position }: LogEvent) {
  const skipped =
    before !== undefined && !isAfter(position, before) && !before.running.includes(position.xid);
  return { readerPosition: advance({ generation, before, ...position }, position), skipped };
}

export type EventName = Pick<ChecksummedPosition, 'id' | 'checksum'>;

export interface DecodedId {
  readonly event: EventName;
  /** The last event that was committed before the reader came, with the running transactions as distances. */
  readonly before: { readonly event: EventName; readonly distances: readonly bigint[] } | undefined;
}

const NUMBER_BYTES = 8;
const NAME_BYTES = NUMBER_BYTES + CHECKSUM_DIGITS / 2;
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);
/** The maximum number of running transactions in an id. Each takes one or two bytes. */
export const MAX_RUNNING = 1_000;
/** LEB128 has seven bits in each byte. The distances are small. */
const MORE = 0x80;
const MAX_DISTANCE_BYTES = 9;

function writeName(bytes: Buffer, { id, checksum }: EventName, at: number): void {
  bytes.writeBigUInt64BE(BigInt(id), at);
  bytes.write(checksum, at + NUMBER_BYTES, 'hex');
}

function readName(bytes: Buffer, at: number): EventName | undefined {
  const id = bytes.readBigUInt64BE(at);
  if (id > MAX_NUMBER) return undefined;
  return { id: Number(id), checksum: bytes.toString('hex', at + NUMBER_BYTES, at + NAME_BYTES) };
}

/** Encodes each transaction as its distance from the previous one, and the first from the event. */
function distancesOf({ xid, running }: NonNullable<ReaderPosition['before']>): number[] {
  const bytes: number[] = [];
  let last = xid;
  for (const transaction of running) {
    let distance = last - transaction;
    for (; distance >= MORE; distance >>= 7n) bytes.push(Number(distance & 0x7fn) | MORE);
    bytes.push(Number(distance));
    last = transaction;
  }
  return bytes;
}

function readDistances(bytes: Buffer): bigint[] | undefined {
  const distances: bigint[] = [];
  let distance = 0n;
  let length = 0;
  for (const byte of bytes) {
    distance |= BigInt(byte & 0x7f) << BigInt(7 * length);
    length += 1;
    if (byte & MORE) {
      if (length === MAX_DISTANCE_BYTES) return undefined;
      continue;
    }
    // A distance is at least 1, and a last byte without bits would be a second encoding of the number.
    if (distance === 0n || (byte === 0 && length > 1)) return undefined;
    distances.push(distance);
    distance = 0n;
    length = 0;
  }
  const fits = length === 0 && distances.length > 0 && distances.length <= MAX_RUNNING;
  return fits ? distances : undefined;
}

/**
 * Encodes the position as an opaque string of 28 characters. The string is longer for a reader that came while
 * transactions were running, until the reader has passed their events.
 */
export function encodeEventId(readerPosition: ReaderPosition): string {
  const { before } = readerPosition;
  const distances = before === undefined ? [] : distancesOf(before);
  const bytes = Buffer.alloc(
    FRAME_BYTES + NAME_BYTES + (before === undefined ? 0 : NAME_BYTES) + distances.length,
  );
  writeName(bytes, readerPosition, CONTENT_START);
  if (before !== undefined) {
    writeName(bytes, before, CONTENT_START + NAME_BYTES);
    bytes.set(distances, CONTENT_START + 2 * NAME_BYTES);
  }
  return opaqueText(bytes);
}

export function encodeEventName(name: EventName): string {
  const bytes = Buffer.alloc(FRAME_BYTES + NAME_BYTES);
  writeName(bytes, name, CONTENT_START);
  return opaqueText(bytes);
}

/** Decodes an event id. The checksum detects errors but not forgery, so the log still has to find the events. */
export function decodeEventId(eventId: string): DecodedId | undefined {
  const bytes = opaqueBytes(eventId);
  if (bytes === undefined || bytes.length < FRAME_BYTES + NAME_BYTES) return undefined;
  const event = readName(bytes, CONTENT_START);
  if (event === undefined) return undefined;
  if (bytes.length === FRAME_BYTES + NAME_BYTES) return { event, before: undefined };
  if (bytes.length < FRAME_BYTES + 2 * NAME_BYTES) return undefined;
  const last = readName(bytes, CONTENT_START + NAME_BYTES);
  const content = bytes.subarray(0, bytes.length - (FRAME_BYTES - CONTENT_START));
  const distances = readDistances(content.subarray(CONTENT_START + 2 * NAME_BYTES));
  if (last === undefined || last.id === 0 || distances === undefined) return undefined;
  return { event, before: { event: last, distances } };
}

/** An absent member matches all events. */
export interface EventFilter {
  /** Sorted names of event kinds. */
  readonly kinds?: readonly string[] | undefined;
  readonly aggregateId?: string | undefined;
  readonly authorId?: string | undefined;
  /** True if the filter matches nothing, as for an invalid id. */
  readonly nothing?: boolean | undefined;
}

type Filtered = Pick<LogEvent, 'kind' | 'aggregateId' | 'authorId'>;

export function matches(
  { kinds, aggregateId, authorId, nothing }: EventFilter,
  { kind, aggregateId: aggregate, authorId: author }: Filtered,
): boolean {
  return (
    nothing !== true &&
    (aggregateId === undefined || aggregateId === aggregate) &&
    (authorId === undefined || authorId === author) &&
    (kinds === undefined || kinds.includes(kind))
  );
}

export const filterKey = ({ kinds, aggregateId, authorId, nothing }: EventFilter): string =>
  nothing === true ? 'nothing' : `${aggregateId ?? ''} ${authorId ?? ''} ${kinds?.join() ?? ''}`;

/**
 * An event looks up three keys for its readers: the key of its aggregate, of its author, and of filters without both.
 * @returns undefined for a filter that matches nothing
 */
export function computeRoutingKey({ aggregateId, authorId, nothing }: EventFilter): string | undefined {
  if (nothing === true) return undefined;
  if (aggregateId !== undefined) return `root ${aggregateId}`;
  return authorId === undefined ? EVERYTHING : `owner ${authorId}`;
}

const EVERYTHING = 'everything';

export function addressesOf({ aggregateId, authorId }: Filtered): readonly string[] {
  const addresses = [EVERYTHING, `root ${aggregateId}`];
  if (authorId !== null) addresses.push(`owner ${authorId}`);
  return addresses;
}

export interface EventColumns {
  /** The row that the event belongs to. Streams can filter by it. */
  readonly aggregateId: string;
  /** The part of the aggregate that the event is about. Absent if the event is about the aggregate. */
  readonly entityId?: string;
  /** The account that wrote the aggregate. Streams can filter by it. Neither id ever changes. */
  readonly authorId: string;
}

export interface EventKind<Name extends string = string> {
  readonly name: Name;
  /**
   * Returns SQL that appends an event for each row of `rows`, such as the name of a CTE. The event is committed
   * exactly if the change is.
   */
  append(rows: string): string;
}

export const eventKind = <Name extends string>(
  name: Name,
  { aggregateId, entityId = 'NULL', authorId }: EventColumns,
): EventKind<Name> => ({
  name,
  append: (rows) =>
    `INSERT INTO events (kind, root_id, part_id, owner_id, trace) SELECT '${name}', ${aggregateId}, ${entityId}::uuid, ${authorId}, ${TRACE_SQL} FROM ${rows}`,
});
