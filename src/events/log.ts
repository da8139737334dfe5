import type { Database } from '../platform/db/database.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import type { Logger } from '../platform/log.ts';
import { type EventName, MAX_RUNNING } from './event-id.ts';
import type { CommittedBefore, EventPlace } from './event-place.ts';
import {
  type LogState,
  openLog,
  PRESENT_ERA,
  positionSql,
  STATE_COLUMNS,
  STATE_FROM,
  type StateRow,
  toLogState,
} from './log-state.ts';
import { isAfter, type LogEvent, MARK_SQL, type MarkedPosition, markOf } from './position.ts';

/**
 * The parts of mutations' statements that append an event about a row, by its entity. A subscription can be about no
 * other entity.
 */
export const APPEND_EVENT = {
  posts: (post: string) => `INSERT INTO events (post_id) SELECT id FROM ${post}`,
};

/** The name of an entity that events are about. */
export type EventSubject = keyof typeof APPEND_EVENT;

/** Every transaction below this has ended: its writes are visible or never will be. */
export const HORIZON = 'pg_snapshot_xmin(pg_current_snapshot())';
/** Whether an event's order is final: of earlier eras, all are. */
export const SETTLED = `(era, xid) < (${PRESENT_ERA}::smallint, ${HORIZON})`;
/** Whether an event cannot be read yet. */
export const HELD = `era = ${PRESENT_ERA} AND xid >= ${HORIZON}`;

interface EventRow extends StateRow {
  readonly found: boolean;
  readonly held: boolean;
  readonly era: number;
  /** Null in the single row returned when there are no events. */
  readonly xid: string | null;
  readonly id: number;
  readonly postId: string;
  readonly createdAt: Date;
}

const READ_AFTER = statement<EventRow>(
  'events_after',
  `SELECT ${STATE_COLUMNS}, place.id IS NOT NULL AS found, EXISTS (SELECT FROM events WHERE ${HELD}) AS held, event.*
   FROM ${STATE_FROM} LEFT JOIN LATERAL ${positionSql('$1::bigint', '$2::text', MARK_SQL)} AS place ON true
   LEFT JOIN LATERAL (
     SELECT era, xid::text, id, post_id AS "postId", created_at AS "createdAt" FROM events
     WHERE (era, events.xid, id) > (place.era, place.xid, place.id) AND (era, events.xid) < (${PRESENT_ERA}::smallint, ${HORIZON})
     ORDER BY era, events.xid, id LIMIT $3) AS event ON true`,
);

/** A slice of the log, and the state of the log at the same instant. */
export interface LogSlice {
  /** Undefined if the log comes from another database by now. */
  readonly state: LogState | undefined;
  /** Whether the log contains exactly the events after the position. */
  readonly found: boolean;
  /** In order. */
  readonly events: LogEvent[];
  /** Whether an older running transaction keeps committed events from being read. */
  readonly held: boolean;
}

/**
 * At most `limit` events after an event, only those whose order is final. The log must still know the event itself.
 * Throws DatabaseError.
 */
export async function readAfter(db: Queryable, { id, mark }: EventName, limit: number): Promise<LogSlice> {
  const rows = await db.query(READ_AFTER, [id, mark, limit]);
  const [state] = rows;
  return {
    state: state === undefined ? undefined : toLogState(state),
    found: state?.found ?? false,
    held: state?.held ?? false,
    events: rows.flatMap(({ era, xid, id: number, postId, createdAt }) =>
      xid === null
        ? []
        : [
            {
              position: { era, xid: BigInt(xid), id: number, mark: markOf(postId, createdAt) },
              postId,
              createdAt,
            },
          ],
    ),
  };
}

interface NowRow extends StateRow {
  readonly era: number;
  readonly xid: string | null;
  readonly id: number;
  readonly mark: string;
  readonly newestXid: string | null;
  readonly newestId: number;
  readonly newestMark: string;
  readonly running: readonly string[];
}

/** The newest event that can be read, and the newest of those that cannot, with the transactions running before it. */
const READ_NOW = statement<NowRow>(
  'events_now',
  `SELECT ${STATE_COLUMNS}, settled.*, newest.xid::text AS "newestXid", newest.id AS "newestId", newest.mark AS "newestMark",
     ARRAY (SELECT xact::text FROM pg_snapshot_xip(pg_current_snapshot()) AS runs(xact) WHERE runs.xact < newest.xid ORDER BY runs.xact DESC) AS running
   FROM ${STATE_FROM} LEFT JOIN LATERAL (
     SELECT era, xid::text, id, ${MARK_SQL} AS mark FROM events WHERE ${SETTLED} ORDER BY era DESC, events.xid DESC, id DESC LIMIT 1) AS settled ON true
   LEFT JOIN LATERAL (
     SELECT xid, id, ${MARK_SQL} AS mark FROM events WHERE ${HELD} ORDER BY xid DESC, id DESC LIMIT 1) AS newest ON true`,
);

function beforeOf({ newestXid, newestId, newestMark, running }: NowRow): CommittedBefore | undefined {
  // Past the bound they are delivered, needlessly; none is lost.
  if (newestXid === null || running.length > MAX_RUNNING) return undefined;
  return {
    era: PRESENT_ERA,
    xid: BigInt(newestXid),
    id: newestId,
    mark: newestMark,
    running: running.map(BigInt),
  };
}

/**
 * The current end of the log, for a new reader: the last event that can be read, and what was committed since. Opens the
 * log of a new or restored database. Throws DatabaseError.
 */
export async function readNow(database: Database, log: Logger): Promise<EventPlace> {
  let [row] = await database.query(READ_NOW, []);
  if (row === undefined) {
    await openLog(database, log);
    [row] = await database.query(READ_NOW, []);
  }
  if (row === undefined) throw new Error('the event log has no state row');
  const { history, first } = toLogState(row);
  const { era, xid, id, mark } = row;
  const settled: MarkedPosition = xid === null ? first : { era, xid: BigInt(xid), id, mark };
  return { history, ...(isAfter(first, settled) ? first : settled), before: beforeOf(row) };
}

/** An event that the log knows, and can be read on from. */
export type KnownEvent = Omit<EventPlace, 'before'>;

interface KnownRow extends StateRow {
  readonly n: number;
  readonly era: number;
  readonly xid: string;
  readonly id: number;
}

const FIND = statement<KnownRow>(
  'events_find',
  `SELECT ${STATE_COLUMNS}, asked.n, place.era, place.xid::text, place.id
   FROM ${STATE_FROM}, unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked(number, mark, n),
     LATERAL ${positionSql('asked.number', 'asked.mark', MARK_SQL)} AS place`,
);

/**
 * Finds events by number and mark, in the order given; undefined for one that the log does not know, or after which it
 * has lost some. Throws DatabaseError.
 */
export async function findEvents(
  db: Queryable,
  names: readonly EventName[],
): Promise<(KnownEvent | undefined)[]> {
  const rows = await db.query(FIND, [names.map(({ id }) => id), names.map(({ mark }) => mark)]);
  const found = new Map(rows.map((row) => [row.n, row]));
  return names.map(({ mark }, index) => {
    const row = found.get(index + 1);
    if (row === undefined) return undefined;
    const { era, xid, id } = row;
    return { history: toLogState(row).history, era, xid: BigInt(xid), id, mark };
  });
}
