import { type Queryable, statement } from '../platform/db/statement.ts';

/**
 * A place in the event log. Sequence numbers follow allocation: a reader that has seen number 5 may later find 4, of a
 * transaction that took longer. So the order is (transaction id, number), and a reader looks only below the oldest
 * transaction still running: nothing smaller can appear behind what it has seen.
 */
export interface LogPosition {
  readonly xid: bigint;
  readonly id: number;
}

/** A post was created. */
export interface LogEvent {
  readonly position: LogPosition;
  readonly postId: string;
  readonly createdAt: Date;
}

/** What a mutation adds to its statement to leave an event: `post` is the row that it inserts. */
export const APPEND_EVENT = 'INSERT INTO events (post_id) SELECT id FROM post';

export function isAfter(a: LogPosition, b: LogPosition): boolean {
  return a.xid > b.xid || (a.xid === b.xid && a.id > b.id);
}

interface EventRow {
  readonly xid: string;
  readonly id: number;
  readonly postId: string;
  readonly createdAt: Date;
}

const READ_AFTER = statement<EventRow>(
  'events_after',
  `SELECT xid::text, id, post_id AS "postId", created_at AS "createdAt" FROM events
   WHERE (xid, id) > ($1::xid8, $2::bigint) AND xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid, id LIMIT $3`,
);

const CURRENT = statement<{ xid: string }>(
  'events_current',
  'SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xid',
);

const HELD_BACK = statement<{ held: boolean }>(
  'events_held_back',
  'SELECT EXISTS (SELECT FROM events WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())) AS held',
);

/** The events after a position that no transaction can get in front of any more, in order, at most `limit`. */
export async function readAfter(db: Queryable, { xid, id }: LogPosition, limit: number): Promise<LogEvent[]> {
  const rows = await db.query(READ_AFTER, [xid.toString(), id, limit]);
  return rows.map((row) => ({
    position: { xid: BigInt(row.xid), id: row.id },
    postId: row.postId,
    createdAt: row.createdAt,
  }));
}

/** The position that everything still to come lies after. */
export async function currentPosition(db: Queryable): Promise<LogPosition> {
  const [row] = await db.query(CURRENT, []);
  return { xid: BigInt(row?.xid ?? 0), id: 0 };
}

/** Whether events are committed that an older transaction, still running, keeps from being read. */
export async function isHeldBack(db: Queryable): Promise<boolean> {
  const [row] = await db.query(HELD_BACK, []);
  return row?.held ?? false;
}
