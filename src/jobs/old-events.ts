import { inBatches } from '../platform/db/in-batches.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';

/** Rows deleted per transaction. Takes a few milliseconds, so nobody has to wait for it. */
const BATCH = 1_000;

/**
 * Deletes the oldest events and records the last deleted position in the same transaction, so that a reader
 * with an older id is told so instead of getting a history with a gap. $1: age limit in milliseconds; $2:
 * batch size.
 */
const PRUNE = statement<{ dropped: number }>(
  'events_prune',
  `WITH old AS (SELECT xid, id FROM events WHERE created_at < now() - $1::float8 * interval '1 millisecond' ORDER BY xid, id LIMIT $2),
     dropped AS (DELETE FROM events USING old WHERE events.xid = old.xid AND events.id = old.id RETURNING events.xid, events.id),
     newest AS (SELECT xid, id FROM dropped ORDER BY xid DESC, id DESC LIMIT 1),
     marked AS (UPDATE event_log SET pruned_xid = newest.xid, pruned_id = newest.id FROM newest
       WHERE event_log.id = 1 AND (event_log.pruned_xid IS NULL OR (event_log.pruned_xid, event_log.pruned_id) < (newest.xid, newest.id)))
   SELECT count(*)::int AS dropped FROM dropped`,
);

/** Deletes events past the limit by the database's clock. Returns their number. Throws DatabaseError. */
export async function pruneEvents(db: Queryable, olderThanMs: number, signal?: AbortSignal): Promise<number> {
  const batch = async () => (await db.query(PRUNE, [olderThanMs, BATCH]))[0]?.dropped ?? 0;
  return inBatches(BATCH, batch, signal);
}
