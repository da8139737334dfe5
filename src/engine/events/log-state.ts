import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import type { Database } from '../../database/database.ts';
import { toDatabaseError } from '../../database/errors.ts';
import { type Queryable, statement } from '../../database/statement.ts';
import { pgEndpoint, queryableOn } from '../../database/transfer/endpoints.ts';
import type { Logger } from '../../platform/log/log.ts';
import { CHECKSUM_DIGITS, type ChecksummedPosition } from './event.ts';

/** The log epoch (column `era`) of all events that this server has written. It is the column's default. */
export const CURRENT_LOG_EPOCH = 32_767;

export interface LogState {
  /** Only positions of one generation can be compared. It changes with the server, and when the log is reset. */
  readonly generation: string;
  /** The position of the last pruned event, or the beginning. */
  readonly first: ChecksummedPosition;
}

export interface StateRow {
  readonly generation: string;
  readonly eras: number;
  readonly prunedEra: number;
  readonly prunedXid: string | null;
  readonly prunedId: number | null;
  readonly prunedChecksum: string;
}

/** Changes with a restore into another server or database, but not with a restart or a switchover. */
const ORIGIN = `(SELECT system_identifier::text FROM pg_control_system()) || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** Has no row if the log is new or comes from another server or database. */
export const STATE_FROM = `(SELECT * FROM event_log WHERE id = 1 AND origin = ${ORIGIN}) AS state`;
/** Earlier versions prune without a checksum. */
export const PRUNED_CHECKSUM = `coalesce(state.pruned_mark, repeat('0', ${CHECKSUM_DIGITS}))`;
export const STATE_COLUMNS = `state.generation, state.eras, state.pruned_era AS "prunedEra", state.pruned_xid::text AS "prunedXid",
  state.pruned_id AS "prunedId", ${PRUNED_CHECKSUM} AS "prunedChecksum"`;
/** SQL of the checksum of the log's beginning. */
export const BEGINNING = `left(replace(state.generation::text, '-', ''), ${CHECKSUM_DIGITS})`;

const beginningOf = ({ generation }: StateRow) => generation.replaceAll('-', '').slice(0, CHECKSUM_DIGITS);

export function toLogState(row: StateRow): LogState {
  const { generation, eras, prunedEra, prunedXid, prunedId, prunedChecksum } = row;
  return {
    generation: `${generation}/${eras}`,
    first:
      prunedXid === null || prunedId === null
        ? { logEpoch: 0, xid: 0n, id: 0, checksum: beginningOf(row) }
        : { logEpoch: prunedEra, xid: BigInt(prunedXid), id: prunedId, checksum: prunedChecksum },
  };
}

/**
 * Returns SQL for the position of an event as one row. There is no row unless the log contains all events after it.
 * `id` and `checksum` are SQL of the name, and `checksumOf` is SQL of an event's checksum.
 */
export const logPositionSql = (id: string, checksum: string, checksumOf: string): string => `(
  SELECT era, xid, id FROM (
    SELECT era, xid, id FROM events WHERE id = ${id} AND ${checksumOf} = ${checksum}
    UNION ALL SELECT state.pruned_era, state.pruned_xid, state.pruned_id WHERE state.pruned_id = ${id} AND ${PRUNED_CHECKSUM} = ${checksum}
    UNION ALL SELECT 0::smallint, '0'::xid8, 0::bigint WHERE ${id} = 0 AND ${BEGINNING} = ${checksum}
  ) AS known WHERE state.pruned_id IS NULL OR (era, xid, id) >= (state.pruned_era, state.pruned_xid, state.pruned_id))`;

const READ = `SELECT ${STATE_COLUMNS} FROM ${STATE_FROM}`;
/**
 * SQL that is true if the log belongs to this server and database. A dump from a copy of this server has the same
 * origin, but may have events of transaction ids that are still in the future here.
 */
export const IS_OPEN = `EXISTS (SELECT FROM ${STATE_FROM}) AND NOT EXISTS (
  SELECT FROM events WHERE era = ${CURRENT_LOG_EPOCH} AND xid >= pg_snapshot_xmax(pg_current_snapshot()))`;
const LOCK = `SELECT pg_advisory_xact_lock(hashtext('event_log'))`;
const BEGIN_LOG = statement<never>(
  'event_log_begin',
  `INSERT INTO event_log (id, generation, origin) VALUES (1, $1, ${ORIGIN}) ON CONFLICT (id) DO NOTHING`,
);
const CLEAR = 'DELETE FROM events';
const RENEW = `UPDATE event_log SET generation = $1, origin = ${ORIGIN}, eras = 0, pruned_era = ${CURRENT_LOG_EPOCH},
  pruned_xid = NULL, pruned_id = NULL, pruned_mark = NULL, held_xid = NULL, held_at = NULL WHERE id = 1`;

/**
 * PostgreSQL stores the writing transaction of each row in `xmin`. It equals `xid`, except in rows that a restore has
 * written. All rows up to the last restored one come from another server.
 */
const ADOPT = statement<{ moved: number }>(
  'events_adopt',
  `WITH moved AS (
    UPDATE events SET era = (SELECT eras + 1 FROM event_log WHERE id = 1)
    WHERE era = ${CURRENT_LOG_EPOCH} AND age(xmin) >= (
      SELECT min(age(xmin)) FROM events WHERE era = ${CURRENT_LOG_EPOCH} AND xmin::text::numeric <> xid::text::numeric % 4294967296)
    RETURNING 1),
  counted AS (SELECT count(*)::int AS moved FROM moved),
  adopted AS (UPDATE event_log SET origin = ${ORIGIN}, eras = eras + 1, held_xid = NULL, held_at = NULL,
      pruned_era = CASE pruned_era WHEN ${CURRENT_LOG_EPOCH} THEN eras + 1 ELSE pruned_era END
    WHERE id = 1)
  SELECT moved FROM counted`,
);

/**
 * Moves the events of another server into a separate log epoch before all events of this server, because transaction
 * ids of another server mean nothing here. A command that copies a log calls this function in the transaction of the
 * copy. Later, a copy from a server with the same identifier is only recognised while its transaction ids are in the
 * future.
 * @returns the number of moved events
 * @throws {DatabaseError}
 */
export async function adoptEvents(db: Queryable): Promise<number> {
  // The first stream opens the log, so there may be events without a log.
  await db.query(BEGIN_LOG, [randomUUID()]);
  const [row] = await db.query(ADOPT, []);
  return row?.moved ?? 0;
}

/**
 * The lock admits one change of the whole log at a time, in a transaction without a time limit.
 * @throws {DatabaseError}
 */
async function alone<T>(database: Database, change: (client: Client) => Promise<T>): Promise<T> {
  try {
    return await database.alone(async (client) => {
      await client.query('BEGIN');
      await client.query(LOCK);
      const result = await change(client);
      await client.query('COMMIT');
      return result;
    });
  } catch (error) {
    throw toDatabaseError(error);
  }
}

/**
 * Opens the log of a new database, and continues the log of a restored dump.
 * @throws {DatabaseError}
 */
export async function openLog(database: Database, log: Logger): Promise<void> {
  await alone(database, async (client) => {
    await queryableOn(pgEndpoint(client)).query(BEGIN_LOG, [randomUUID()]);
    // Another instance may have opened the log while this instance waited for the lock.
    if ((await client.query<{ open: boolean }>(`SELECT ${IS_OPEN} AS open`)).rows[0]?.open) return;
    const startedMs = performance.now();
    const events = await adoptEvents(queryableOn(pgEndpoint(client)));
    log.emit('events.log_imported', { events, durationMs: Math.round(performance.now() - startedMs) });
  });
}

/**
 * Starts a new generation of the log, so that all earlier event ids expire. `record` writes in the same transaction.
 * @throws {DatabaseError}
 */
export async function renewLog(
  database: Database,
  record?: (transaction: Queryable, state: LogState) => Promise<void>,
): Promise<LogState> {
  return alone(database, async (client) => {
    await queryableOn(pgEndpoint(client)).query(BEGIN_LOG, [randomUUID()]);
    await client.query(CLEAR);
    await client.query(RENEW, [randomUUID()]);
    const [row] = (await client.query<StateRow>(READ)).rows;
    if (row === undefined) throw new Error('the event log has no state row');
    const state = toLogState(row);
    await record?.(queryableOn(pgEndpoint(client)), state);
    return state;
  });
}
