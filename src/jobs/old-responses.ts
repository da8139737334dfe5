import { inBatches } from '../platform/db/in-batches.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';

const BATCH = 500;
const AGO = "now() - $1::float8 * interval '1 millisecond'";

/** A response may be replaced by a new one under its key at any time: only what is still old goes. */
const PRUNE = statement<{ dropped: number }>(
  'idempotency_prune',
  `WITH old AS (SELECT user_id, key_hash FROM idempotency_keys WHERE created_at < ${AGO} LIMIT $2),
     dropped AS (DELETE FROM idempotency_keys k USING old WHERE k.user_id = old.user_id AND k.key_hash = old.key_hash AND k.created_at < ${AGO} RETURNING 1)
   SELECT count(*)::int AS dropped FROM dropped`,
);

/** Deletes the stored responses past the retention. Returns how many. Throws DatabaseError. */
export async function pruneResponses(
  db: Queryable,
  retentionMs: number,
  signal?: AbortSignal,
): Promise<number> {
  const batch = async () => (await db.query(PRUNE, [retentionMs, BATCH]))[0]?.dropped ?? 0;
  return inBatches(BATCH, batch, signal);
}
