import type { Job } from '../jobs/job.ts';
import { inBatches } from '../platform/db/in-batches.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import { HELD, HORIZON } from './log.ts';
import { PRESENT_ERA } from './log-state.ts';
import { MARK_SQL } from './position.ts';

/** Rows deleted per transaction. Takes a few milliseconds, so nobody has to wait for it. */
const BATCH = 1_000;

/** How long what a transaction has kept from being read stays afterwards: its readers need a moment. */
const AFTERWARDS = `interval '2 minutes'`;
const READABLE = `(era, xid) < (${PRESENT_ERA}::smallint,
  least(${HORIZON}, (SELECT held_xid FROM event_log WHERE id = 1 AND held_at > now() - ${AFTERWARDS})))`;

interface Pruned {
  readonly dropped: number;
  /** The last of them; null if there are none. */
  readonly era: number | null;
  readonly xid: string | null;
  readonly id: number | null;
}

/**
 * Deletes the oldest events that could be read, and records the last deleted position in the same transaction, so that a
 * reader with an older id gets EVENT_HISTORY_EXPIRED and not a history with a gap. It reads only the beginning of the log:
 * that needs no index by time, for which each mutation would pay. $1: age limit in milliseconds; $2: batch size; $3 to $5:
 * the position that the previous batch reached, since deleted rows stay in the index until a vacuum.
 */
const PRUNE = statement<Pruned>(
  'events_prune',
  `WITH first AS (SELECT id, created_at FROM events
       WHERE (era, xid, id) > ($3::smallint, $4::text::xid8, $5::bigint) AND ${READABLE} ORDER BY era, xid, id LIMIT $2),
     old AS (SELECT id FROM first WHERE created_at < now() - $1::float8 * interval '1 millisecond'),
     dropped AS (DELETE FROM events USING old WHERE events.id = old.id RETURNING era, xid, events.id, ${MARK_SQL} AS mark),
     newest AS (SELECT era, xid, id, mark FROM dropped ORDER BY era DESC, xid DESC, id DESC LIMIT 1),
     marked AS (UPDATE event_log SET pruned_era = newest.era, pruned_xid = newest.xid, pruned_id = newest.id, pruned_mark = newest.mark
       FROM newest WHERE event_log.id = 1
         AND (pruned_xid IS NULL OR (pruned_era, pruned_xid, pruned_id) < (newest.era, newest.xid, newest.id)))
   SELECT counted.dropped, newest.era, newest.xid::text, newest.id
   FROM (SELECT count(*)::int AS dropped FROM dropped) AS counted LEFT JOIN newest ON true`,
);

/** Notes the transaction that holds events which will soon be past the limit. $1: age limit in milliseconds. */
const NOTE_HELD = statement<never>(
  'events_note_held',
  `UPDATE event_log SET held_xid = ${HORIZON}, held_at = now() WHERE id = 1
     AND EXISTS (SELECT FROM events WHERE ${HELD} AND created_at < now() - $1::float8 * interval '1 millisecond' + ${AFTERWARDS})
     AND (held_at > now() - ${AFTERWARDS} AND held_xid < ${HORIZON}) IS NOT TRUE`,
);

/**
 * Deletes events past the limit by the database's clock, except what nobody could read yet. Returns their number. Throws
 * DatabaseError.
 */
export async function pruneEvents(db: Queryable, olderThanMs: number, signal?: AbortSignal): Promise<number> {
  let after: readonly [era: number, xid: string, id: number] = [0, '0', 0];
  const batch = async () => {
    const [pruned] = await db.query(PRUNE, [olderThanMs, BATCH, ...after]);
    if (pruned === undefined) return 0;
    const { dropped, era, xid, id } = pruned;
    if (era !== null && xid !== null && id !== null) after = [era, xid, id];
    return dropped;
  };
  const dropped = await inBatches(BATCH, batch, signal);
  await db.query(NOTE_HELD, [olderThanMs]);
  return dropped;
}

export const oldEvents = (retentionMs: number): Job => ({
  name: 'events',
  run: (db, signal) => pruneEvents(db, retentionMs, signal),
});
