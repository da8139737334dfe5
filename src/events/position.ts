import { events } from '../generated/tables.ts';
import { pickColumns, type RowOf } from '../platform/db/columns.ts';

/**
 * A position in the event log. Sequence numbers reflect allocation, not commit: after number 5, a reader may
 * still find 4 from a slower transaction. So the order is (transaction id, number), and readers stop at the
 * oldest running transaction: nothing can appear later before a position that they have passed. Transaction ids belong
 * to one server: events from the dump of another one are in an earlier era (decision 29).
 */
export interface LogPosition {
  readonly era: number;
  readonly xid: bigint;
  /** The number of the event; 0 before the first. */
  readonly id: number;
}

export function isAfter(a: LogPosition, b: LogPosition): boolean {
  if (a.era !== b.era) return a.era > b.era;
  return a.xid > b.xid || (a.xid === b.xid && a.id > b.id);
}

/** A position is that of an event, or of the beginning of a log. */
export interface MarkedPosition extends LogPosition {
  /** Ten bytes in hexadecimal, which the event with this number has in no other history. */
  readonly mark: string;
}

/** An event in the log, as it is written. */
export type EventRecord = RowOf<typeof recordedEvents>;

export const recordedEvents = pickColumns(events, [
  'kind',
  'rootId',
  'partId',
  'ownerId',
  'createdAt',
  'trace',
]);

/** An event in the log. */
export interface LogEvent extends EventRecord {
  readonly position: MarkedPosition;
}

const INSTANT_DIGITS = 12;
const RANDOM_DIGITS = 8;
/** The digits of a mark. */
export const MARK_DIGITS = INSTANT_DIGITS + RANDOM_DIGITS;

/**
 * The mark of an event: the millisecond of its transaction, and the last four bytes of the id of what it is about, which are
 * random (RFC 9562 section 5.7). A history that was cut off and continued gives the number to another event, at another
 * time.
 */
export function markOf({
  rootId,
  partId,
  createdAt,
}: Pick<EventRecord, 'rootId' | 'partId' | 'createdAt'>): string {
  const instant = createdAt.getTime().toString(16).padStart(INSTANT_DIGITS, '0');
  return instant + (partId ?? rootId).slice(-RANDOM_DIGITS);
}

/** The same in SQL, for a row of `events`. */
export const MARK_SQL = `lpad(to_hex((extract(epoch FROM created_at) * 1000)::bigint), ${INSTANT_DIGITS}, '0') || right(coalesce(part_id, root_id)::text, ${RANDOM_DIGITS})`;
