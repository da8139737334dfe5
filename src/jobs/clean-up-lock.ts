import { atMost } from '../platform/at-most.ts';
import type { Database } from '../platform/db/database.ts';
import { toDatabaseError } from '../platform/db/errors.ts';

/** Any number that no other advisory lock of the database has. */
const LOCK = 2_026_112_300;
const END_LIMIT_MS = 1_000;

/**
 * Takes the right to do the clean-up, which one instance has at a time; undefined if another instance has it. It is a
 * session's advisory lock on a connection of its own, past a pooler: the server ends it when the connection ends,
 * however the instance dies. The embedded database has one instance, which always has it. Throws DatabaseError.
 */
export async function takeCleanUpLock(database: Database): Promise<{ end(): Promise<void> } | undefined> {
  if (database.kind === 'embedded') return { end: async () => undefined };
  let client: Awaited<ReturnType<Database['dedicatedClient']>> | undefined;
  const end = async () => {
    // A server that does not answer must not hold up the next time. A connection that is already lost has ended.
    await atMost(END_LIMIT_MS, client?.end().catch(() => undefined) ?? Promise.resolve());
  };
  try {
    client = await database.dedicatedClient({ limited: true });
    const { rows } = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_lock($1) AS mine', [LOCK]);
    if (rows[0]?.mine === true) return { end };
    await end();
    return undefined;
  } catch (error) {
    await end();
    throw toDatabaseError(error);
  }
}
