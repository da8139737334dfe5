import { type RowOf, renameColumns } from '../../database/statement.ts';
import { TRACE_SQL } from '../../database/statement-instrumentation.ts';
import { events } from '../../generated/tables.ts';
import { CONTENT_START, FRAME_BYTES, opaqueBytes, opaqueText } from '../../platform/ids.ts';

/**
 * A position in the event log. Sequence numbers reflect allocation, not commit: after number 5, a reader may
 * still find 4 from a slower transaction. So the order is (transaction id, number), and readers stop at the
 * oldest running transaction: nothing can appear later before a position that they have passed. Transaction ids belong
 * to one server: events from the dump of another server are in an earlier log epoch (decision 29).
 */
export interface LogPosition {
  readonly logEpoch: number;
  readonly xid: bigint;
  /** The number of the event; 0 before the first. */
  readonly id: number;
}

export function isAfter(a: LogPosition, b: LogPosition): boolean {
  if (a.logEpoch !== b.logEpoch) return a.logEpoch > b.logEpoch;
  return a.xid > b.xid || (a.xid === b.xid && a.id > b.id);
}

/** The position of an event or of the beginning of a log, with its checksum. */
export interface ChecksummedPosition extends LogPosition {
  /** Ten bytes in hexadecimal. The event with this number has another checksum in any other generation. */
  readonly checksum: string;
}

/** An event in the log, as it is written. */
export type EventRecord = RowOf<typeof recordedEvents>;

export const recordedEvents = renameColumns(events, {
  kind: 'kind',
  aggregateId: 'rootId',
  entityId: 'partId',
  authorId: 'ownerId',
  createdAt: 'createdAt',
  trace: 'trace',
});

/** An event in the log. */
export interface LogEvent extends EventRecord {
  readonly position: ChecksummedPosition;
}

const TIMESTAMP_DIGITS = 12;
const RANDOM_DIGITS = 8;
/** The hexadecimal digits of a checksum. */
export const CHECKSUM_DIGITS = TIMESTAMP_DIGITS + RANDOM_DIGITS;

/**
 * The checksum of an event: the millisecond of its transaction, and the last four bytes of the id of its entity, which are
 * random (RFC 9562 section 5.7). A log that was truncated and continued gives the number to another event, at another
 * time.
 */
export function eventChecksum({
  aggregateId,
  entityId,
  createdAt,
}: Pick<EventRecord, 'aggregateId' | 'entityId' | 'createdAt'>): string {
  const timestamp = createdAt.getTime().toString(16).padStart(TIMESTAMP_DIGITS, '0');
  return timestamp + (entityId ?? aggregateId).slice(-RANDOM_DIGITS);
}

/** The SQL of the checksum of a row of `events`. */
export const CHECKSUM_SQL = `lpad(to_hex((extract(epoch FROM created_at) * 1000)::bigint), ${TIMESTAMP_DIGITS}, '0') || right(coalesce(part_id, root_id)::text, ${RANDOM_DIGITS})`;

/**
 * What was committed before a reader came and could not be read yet, because an older transaction was still running: all
 * events up to this one, except those of the transactions that were running.
 */
export interface CommittedBefore extends ChecksummedPosition {
  /** Transactions that were running then, all older than this event. In descending order. */
  readonly running: readonly bigint[];
}

/** The position of a reader. Never changed. */
export interface ReaderPosition extends ChecksummedPosition {
  /** The generation to which the position belongs (`LogState.generation`). */
  readonly generation: string;
  /** Later events that the reader must not get; undefined once they are behind it. */
  readonly before: CommittedBefore | undefined;
}

/** The position after an event, and whether the reader must not get the event. */
interface Passed {
  readonly readerPosition: ReaderPosition;
  readonly skipped: boolean;
}

function restOf(before: CommittedBefore | undefined, at: LogPosition): CommittedBefore | undefined {
  if (before === undefined || !isAfter(before, at)) return undefined;
  const running = before.running.filter((xid) => xid >= at.xid);
  return running.length === before.running.length ? before : { ...before, running };
}

/** The reader position at a later position of the log, past events that do not match the filter of the reader. */
export const advance = (
  { generation, before }: ReaderPosition,
  position: ChecksummedPosition,
): ReaderPosition => ({
  generation,
  ...position,
  before: restOf(before, position),
});

/** Moves past the next event of the log. */
export function pass({ generation, before }: ReaderPosition, { position }: LogEvent): Passed {
  const skipped =
    before !== undefined && !isAfter(position, before) && !before.running.includes(position.xid);
  return { readerPosition: advance({ generation, before, ...position }, position), skipped };
}

/** An event as an id names it. */
export type EventName = Pick<ChecksummedPosition, 'id' | 'checksum'>;

/** What an event id says. Where the events are in the log, only the log knows. */
export interface DecodedId {
  readonly event: EventName;
  /** The last event that was committed before the reader came, and the distances of the transactions running then. */
  readonly before: { readonly event: EventName; readonly distances: readonly bigint[] } | undefined;
}

const NUMBER_BYTES = 8;
const NAME_BYTES = NUMBER_BYTES + CHECKSUM_DIGITS / 2;
/** Event numbers are JavaScript numbers. */
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);
/** The most running transactions in an id, which takes one or two bytes for each. */
export const MAX_RUNNING = 1_000;
/** Seven bits in each byte (LEB128): the distances are small. */
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

/** Each transaction as its distance from the one before it, the first from the event's. */
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

/** Undefined if the bytes are anything else than what `distancesOf` writes. */
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
    // Two transactions are not one, and a last byte without bits is one too many.
    if (distance === 0n || (byte === 0 && length > 1)) return undefined;
    distances.push(distance);
    distance = 0n;
    length = 0;
  }
  const fits = length === 0 && distances.length > 0 && distances.length <= MAX_RUNNING;
  return fits ? distances : undefined;
}

/**
 * Encodes the position as an opaque string of 28 characters; longer for a reader that came while transactions were running,
 * until the events of those times are behind it.
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

/** Encodes the position right after an event, for a reader that has seen nothing later. */
export function encodeEventName(name: EventName): string {
  const bytes = Buffer.alloc(FRAME_BYTES + NAME_BYTES);
  writeName(bytes, name, CONTENT_START);
  return opaqueText(bytes);
}

/**
 * Decodes an event id. Undefined for any other string. The checksum detects mistakes but not forgery, so the log still has
 * to know the events.
 */
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

/** The events that a stream gets. An absent member matches all events. */
export interface EventFilter {
  /** The names of kinds, sorted. */
  readonly kinds?: readonly string[] | undefined;
  readonly aggregateId?: string | undefined;
  readonly authorId?: string | undefined;
  /** True if the filter matches nothing, such as a filter for an invalid id. */
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

/** Equal for filters that match the same events. */
export const filterKey = ({ kinds, aggregateId, authorId, nothing }: EventFilter): string =>
  nothing === true ? 'nothing' : `${aggregateId ?? ''} ${authorId ?? ''} ${kinds?.join() ?? ''}`;

/**
 * The routing key of a filter. An event looks up three keys for its readers: that of its aggregate, that of its
 * author, and the key of filters without both. Undefined for a filter that matches nothing.
 */
export function computeRoutingKey({ aggregateId, authorId, nothing }: EventFilter): string | undefined {
  if (nothing === true) return undefined;
  if (aggregateId !== undefined) return `root ${aggregateId}`;
  return authorId === undefined ? EVERYTHING : `owner ${authorId}`;
}

const EVERYTHING = 'everything';

/** The routing keys of an event. */
export function addressesOf({ aggregateId, authorId }: Filtered): readonly string[] {
  const addresses = [EVERYTHING, `root ${aggregateId}`];
  if (authorId !== null) addresses.push(`owner ${authorId}`);
  return addresses;
}

/** The columns of a statement's rows that have the ids of an event. */
export interface EventColumns {
  /** The row that the event belongs to. Streams can be filtered by it. */
  readonly aggregateId: string;
  /** The entity of the aggregate that the event is about; none if it is about the aggregate itself. */
  readonly entityId?: string;
  /** The account that wrote the aggregate. Streams can be filtered by it, too. Neither ever changes. */
  readonly authorId: string;
}

/** A kind of events, declared by the module that writes them. */
export interface EventKind<Name extends string = string> {
  readonly name: Name;
  /**
   * Returns the SQL fragment that appends an event for each row of `rows`, such as the name of a CTE that returns what it
   * has written. The event is committed exactly if the change is.
   */
  append(rows: string): string;
}

/** A kind whose events are about rows with these columns. */
export const eventKind = <Name extends string>(
  name: Name,
  { aggregateId, entityId = 'NULL', authorId }: EventColumns,
): EventKind<Name> => ({
  name,
  append: (rows) =>
    `INSERT INTO events (kind, root_id, part_id, owner_id, trace) SELECT '${name}', ${aggregateId}, ${entityId}::uuid, ${authorId}, ${TRACE_SQL} FROM ${rows}`,
});
