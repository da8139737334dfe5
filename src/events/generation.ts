import { randomUUID } from 'node:crypto';
import type { Database } from '../platform/db/database.ts';
import { statement } from '../platform/db/statement.ts';
import { isAfter, type LogPosition } from './position.ts';

/** The state of the log as a whole. */
export interface Generation {
  /** Eight bytes in hexadecimal. */
  readonly key: string;
  /** The last position that retention has pruned. */
  readonly pruned: LogPosition | undefined;
  /** The first unassigned transaction id. A position at or beyond it belongs to another history. */
  readonly nextXid: bigint;
}

/** The columns that STATE_COLUMNS selects from STATE_FROM. */
export interface StateRow {
  readonly generation: string;
  readonly prunedXid: string | null;
  readonly prunedId: number | null;
  readonly nextXid: string;
}

/** Changes when the database is restored into another server or database, but not on a restart. */
const ORIGIN = `(SELECT system_identifier::text FROM pg_control_system()) || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** One row, or none if the log is new or belongs to another server or database. */
export const STATE_FROM = `(SELECT * FROM event_log WHERE id = 1 AND origin = ${ORIGIN}) AS state`;
export const STATE_COLUMNS = `state.generation, state.pruned_xid::text AS "prunedXid", state.pruned_id AS "prunedId", pg_snapshot_xmax(pg_current_snapshot())::text AS "nextXid"`;

const READ = statement<StateRow>('event_log_state', `SELECT ${STATE_COLUMNS} FROM ${STATE_FROM}`);
const LOCK = statement<never>('event_log_lock', `SELECT pg_advisory_xact_lock(hashtext('event_log'))`);
const CLEAR = statement<never>('event_log_clear', 'DELETE FROM events');
const RENEW = statement<never>(
  'event_log_renew',
  `INSERT INTO event_log (id, generation, origin) VALUES (1, $1, ${ORIGIN})
   ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, origin = excluded.origin, pruned_xid = NULL, pruned_id = NULL`,
);

export function toGeneration({ generation, prunedXid, prunedId, nextXid }: StateRow): Generation {
  return {
    key: generation.replaceAll('-', '').slice(0, 16),
    pruned: prunedXid === null ? undefined : { xid: BigInt(prunedXid), id: prunedId ?? 0 },
    nextXid: BigInt(nextXid),
  };
}

/**
 * Whether the log contains exactly the events after a position of a generation. Every position handed out
 * belongs to a committed event, so its transaction id survives a crash of the server. A transaction id that
 * is not yet assigned therefore comes from a lost history.
 */
export function canResumeFrom(key: string, position: LogPosition, now: Generation | undefined): boolean {
  return (
    now !== undefined &&
    now.key === key &&
    position.xid < now.nextXid &&
    !(now.pruned !== undefined && isAfter(now.pruned, position))
  );
}

/**
 * Starts a new generation: always, or only if the current one belongs to another database. Deletes the rest
 * of the log, because its transaction ids may belong to another history. Throws DatabaseError.
 */
export async function renewGeneration(database: Database, always: boolean): Promise<Generation> {
  const work = database.unitOfWork();
  try {
    await work.query(LOCK, []);
    // Another instance may have done this while we waited for the lock.
    const [known] = always ? [] : await work.query(READ, []);
    if (known === undefined) {
      await work.query(CLEAR, []);
      await work.query(RENEW, [randomUUID()]);
    }
    const [state] = await work.query(READ, []);
    await work.commit();
    if (state === undefined) throw new Error('the event log has no state row');
    return toGeneration(state);
  } catch (error) {
    await work.rollback();
    throw error;
  }
}
