import type { Database } from '../platform/db/database.ts';
import { statement } from '../platform/db/statement.ts';

/** Rows dropped in one transaction: a few milliseconds, so that nobody waits for it. */
const BATCH = 1_000;

/**
 * Drops the oldest events and remembers the last dropped position in the same transaction: whoever comes back with an
 * id before it is told so, rather than given a history with a hole. $1 is the age limit in milliseconds, $2 the batch.
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

/** Drops the events older than that by the database's clock, batch by batch. Returns how many. Throws DatabaseError. */
export async function pruneEvents(database: Database, olderThanMs: number): Promise<number> {
  let total = 0;
  for (;;) {
    const [row] = await database.query(PRUNE, [olderThanMs, BATCH]);
    const dropped = row?.dropped ?? 0;
    total += dropped;
    if (dropped < BATCH) return total;
  }
}
