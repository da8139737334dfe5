import type { Database } from '../platform/db/database.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import { CommittedBeforeStart } from './committed-before-start.ts';
import {
  type Generation,
  renewGeneration,
  STATE_COLUMNS,
  STATE_FROM,
  type StateRow,
  toGeneration,
} from './generation.ts';
import { isAfter, type LogPosition } from './position.ts';

/** A post was created. */
export interface LogEvent {
  readonly position: LogPosition;
  readonly postId: string;
  readonly createdAt: Date;
}

/** The part of a mutation's statement that appends an event. `post` is the inserted row. */
export const APPEND_EVENT = 'INSERT INTO events (post_id) SELECT id FROM post';

/** Every transaction below this has ended: its writes are visible or never will be. */
const HORIZON = 'pg_snapshot_xmin(pg_current_snapshot())';

interface EventRow extends StateRow {
  readonly held: boolean;
  /** Null in the single row returned when there are no events. */
  readonly xid: string | null;
  readonly id: number;
  readonly postId: string;
  readonly createdAt: Date;
}

const READ_AFTER = statement<EventRow>(
  'events_after',
  `SELECT ${STATE_COLUMNS}, EXISTS (SELECT FROM events WHERE xid >= ${HORIZON}) AS held, event.*
   FROM ${STATE_FROM} LEFT JOIN LATERAL (
     SELECT xid::text, id, post_id AS "postId", created_at AS "createdAt" FROM events
     WHERE (events.xid, id) > ($1::xid8, $2::bigint) AND events.xid < ${HORIZON} ORDER BY events.xid, id LIMIT $3) AS event ON true`,
);

interface NowRow extends StateRow {
  readonly xid: string | null;
  readonly id: number;
  readonly early: readonly string[];
}

const READ_NOW = statement<NowRow>(
  'events_now',
  `SELECT ${STATE_COLUMNS}, newest.xid::text AS xid, newest.id,
     ARRAY (SELECT id::text FROM events WHERE xid >= ${HORIZON} ORDER BY events.id LIMIT 10000) AS early
   FROM ${STATE_FROM} LEFT JOIN LATERAL (
     SELECT events.xid, id FROM events WHERE events.xid < ${HORIZON} ORDER BY events.xid DESC, id DESC LIMIT 1) AS newest ON true`,
);

/** A slice of the log, and the state of the log at the same instant. */
export interface LogSlice {
  /** Undefined if the log no longer belongs to this database. */
  readonly generation: Generation | undefined;
  /** In order. */
  readonly events: LogEvent[];
  /** Whether an older running transaction keeps committed events from being read. */
  readonly held: boolean;
}

/** At most `limit` events after a position, only those whose order is final. Throws DatabaseError. */
export async function readAfter(db: Queryable, { xid, id }: LogPosition, limit: number): Promise<LogSlice> {
  const rows = await db.query(READ_AFTER, [xid.toString(), id, limit]);
  const [state] = rows;
  return {
    generation: state === undefined ? undefined : toGeneration(state),
    held: state?.held ?? false,
    events: rows.flatMap(({ xid: transaction, id: number, postId, createdAt }) =>
      transaction === null ? [] : [{ position: { xid: BigInt(transaction), id: number }, postId, createdAt }],
    ),
  };
}

/** The current state of the log, for a new reader. */
export interface LogNow {
  readonly generation: Generation;
  /** The last readable event. New events lie after it. */
  readonly position: LogPosition;
  readonly early: CommittedBeforeStart;
}

/**
 * The current end of the log. Starts a new generation on a new or restored database. Throws DatabaseError.
 */
export async function readNow(database: Database): Promise<LogNow> {
  let [row] = await database.query(READ_NOW, []);
  if (row === undefined) {
    await renewGeneration(database, false);
    [row] = await database.query(READ_NOW, []);
  }
  if (row === undefined) throw new Error('the event log has no state row');
  const generation = toGeneration(row);
  const newest = row.xid === null ? { xid: 0n, id: 0 } : { xid: BigInt(row.xid), id: row.id };
  const { pruned } = generation;
  return {
    generation,
    position: pruned !== undefined && isAfter(pruned, newest) ? pruned : newest,
    early: CommittedBeforeStart.of(row.early.map(Number)),
  };
}
