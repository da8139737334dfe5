import type { Database } from '../../database/database.ts';
import type { Job } from '../../database/jobs.ts';
import { formatColumns, type Queryable, statement } from '../../database/statement.ts';
import { runInBatches } from '../../platform/async.ts';
import type { Logger } from '../../platform/log/log.ts';
import {
  CHECKSUM_SQL,
  type ChecksummedPosition,
  type CommittedBefore,
  type EventFilter,
  type EventName,
  type EventRecord,
  eventChecksum,
  isAfter,
  type LogEvent,
  MAX_RUNNING,
  type ReaderPosition,
  recordedEvents,
} from './event.ts';
import {
  BEGINNING,
  CURRENT_LOG_EPOCH,
  logPositionSql,
  openLog,
  PRUNED_CHECKSUM,
  STATE_COLUMNS,
  STATE_FROM,
  type StateRow,
  toLogState,
} from './log-state.ts';

/** Transactions below this id have ended, so their writes are visible or never will be. */
export const HORIZON = 'pg_snapshot_xmin(pg_current_snapshot())';
/** SQL that is true if the order of an event is final, as for all events of earlier log epochs. */
export const SETTLED = `(era, xid) < (${CURRENT_LOG_EPOCH}::smallint, ${HORIZON})`;
/** SQL that is true if an older open transaction blocks an event. */
export const BLOCKED = `era = ${CURRENT_LOG_EPOCH} AND xid >= ${HORIZON}`;

interface EventRow extends StateRow, EventRecord {
  readonly found: boolean;
  readonly blocked: boolean;
  readonly era: number;
  /** `xid` is null if there are no events. */
  readonly xid: string | null;
  readonly id: number;
}

const EVENT_COLUMNS = `era, xid::text, id, ${formatColumns(recordedEvents)}`;
const AFTER_BASE = `(era, events.xid, id) > (base.era, base.xid, base.id) AND (era, events.xid) < (${CURRENT_LOG_EPOCH}::smallint, ${HORIZON})`;
/**
 * Both bounds contain the key, so that PostgreSQL uses the index on the key. Otherwise the planner takes the bounds
 * to be narrow, and reads the whole log for the few events of one aggregate.
 */
const afterBaseWith = (column: string, key: string) =>
  `${column} = ${key} AND (${column}, era, events.xid, id) > (${key}, base.era, base.xid, base.id) AND (${column}, era, events.xid) < (${key}, ${CURRENT_LOG_EPOCH}::smallint, ${HORIZON})`;
const LOG_COLUMNS = `${STATE_COLUMNS}, base.id IS NOT NULL AS found, EXISTS (SELECT FROM events WHERE ${BLOCKED}) AS blocked`;
const LOG_FROM = `${STATE_FROM} LEFT JOIN LATERAL ${logPositionSql('$1::bigint', '$2::text', CHECKSUM_SQL)} AS base ON true`;

const READ_AFTER = statement<EventRow>(
  'events_after',
  `SELECT ${LOG_COLUMNS}, event.* FROM ${LOG_FROM}
   LEFT JOIN LATERAL (SELECT ${EVENT_COLUMNS} FROM events WHERE ${AFTER_BASE} ORDER BY era, events.xid, id LIMIT $3) AS event ON true`,
);

const positionOf = (era: number, xid: string, id: number, checksum: string): ChecksummedPosition => ({
  logEpoch: era,
  xid: BigInt(xid),
  id,
  checksum,
});

function eventOf({ era, xid, id, ...row }: EventRow): LogEvent | undefined {
  if (xid === null) return undefined;
  const { kind, aggregateId, entityId, authorId, createdAt, trace } = row;
  const record = { kind, aggregateId, entityId, authorId, createdAt, trace };
  return { ...record, position: positionOf(era, xid, id, eventChecksum(record)) };
}

function sliceOf(rows: readonly EventRow[]) {
  const [state] = rows;
  return {
    /** Undefined if the log now comes from another database. */
    state: state === undefined ? undefined : toLogState(state),
    /** False if events after the position were pruned or lost. */
    found: state?.found ?? false,
    blocked: state?.blocked ?? false,
    events: rows.flatMap((row) => eventOf(row) ?? []),
  };
}

type LogSlice = ReturnType<typeof sliceOf>;

/**
 * Reads only events whose order is final, after an event that the log still contains.
 * @throws {DatabaseError}
 */
export async function readAfter(
  db: Queryable,
  { id, checksum }: EventName,
  limit: number,
): Promise<LogSlice> {
  return sliceOf(await db.query(READ_AFTER, [id, checksum, limit]));
}

interface FilteredRow extends EventRow {
  /** Null if the log has no events. */
  readonly endEra: number;
  readonly endXid: string | null;
  readonly endId: number;
  readonly endChecksum: string;
}

/**
 * Selects the events after a position that match a filter. Events with another key cost nothing. $3 limits the
 * returned events, and $4 the examined events with the key. Kinds and author follow, null for all. The end is the
 * last examined event or, if all were examined, the newest event of the log.
 */
const filteredBy = (label: string, afterBase: string) =>
  statement<FilteredRow>(
    `events_after_${label}`,
    `SELECT ${LOG_COLUMNS}, event.* FROM ${LOG_FROM}
     LEFT JOIN LATERAL (
       WITH looked AS MATERIALIZED (SELECT * FROM events WHERE ${afterBase} ORDER BY era, events.xid, id LIMIT $4::int),
         stopped AS (SELECT * FROM looked WHERE (SELECT count(*) FROM looked) >= $4::int ORDER BY era DESC, xid DESC, id DESC LIMIT 1),
         newest AS (SELECT * FROM events WHERE ${SETTLED} AND NOT EXISTS (SELECT FROM stopped) ORDER BY era DESC, events.xid DESC, id DESC LIMIT 1),
         ends AS (SELECT era AS "endEra", xid::text AS "endXid", id AS "endId", ${CHECKSUM_SQL} AS "endChecksum"
           FROM (SELECT * FROM stopped UNION ALL SELECT * FROM newest) AS last)
       SELECT ends.*, found.* FROM ends LEFT JOIN LATERAL (
         SELECT ${EVENT_COLUMNS} FROM looked
         WHERE ($5::text[] IS NULL OR kind = ANY($5::text[])) AND ($6::uuid IS NULL OR owner_id = $6::uuid)
         ORDER BY era, looked.xid, id LIMIT $3) AS found ON true) AS event ON true`,
  );
const FILTERED = {
  all: filteredBy('filtered', AFTER_BASE),
  aggregate: filteredBy('of_root', afterBaseWith('root_id', '$7::uuid')),
  author: filteredBy('of_owner', afterBaseWith('owner_id', '$6::uuid')),
};

/**
 * Examines the next `looks` events of the filter's aggregate or author, or of the whole log if the filter has
 * neither. `end` is the position up to which the log was searched.
 * @throws {DatabaseError}
 */
export async function readFiltered(
  db: Queryable,
  { id, checksum }: EventName,
  { kinds, aggregateId, authorId, nothing }: EventFilter,
  { limit, looks }: { readonly limit: number; readonly looks: number },
): Promise<LogSlice & { readonly end: ChecksummedPosition | undefined }> {
  const values = [id, checksum, limit, looks, nothing === true ? [] : (kinds ?? null), authorId ?? null];
  const rows =
    aggregateId !== undefined
      ? await db.query(FILTERED.aggregate, [...values, aggregateId])
      : await db.query(authorId === undefined ? FILTERED.all : FILTERED.author, values);
  const slice = sliceOf(rows);
  const [first] = rows;
  const last = slice.events.length === limit ? slice.events.at(-1)?.position : undefined;
  const end =
    first === undefined || first.endXid === null
      ? undefined
      : positionOf(first.endEra, first.endXid, first.endId, first.endChecksum);
  return { ...slice, end: last ?? end };
}

/**
 * SQL for the name of the newest event that a snapshot certainly sees, or of the position before all retained events.
 * NULL if the log is not open.
 */
export const SNAPSHOT_NAME = `(SELECT coalesce(
    (SELECT id || ' ' || ${CHECKSUM_SQL} FROM events
      WHERE ${SETTLED} AND (state.pruned_id IS NULL OR (era, events.xid, id) >= (state.pruned_era, state.pruned_xid, state.pruned_id))
      ORDER BY era DESC, events.xid DESC, id DESC LIMIT 1),
    state.pruned_id || ' ' || ${PRUNED_CHECKSUM}, '0 ' || ${BEGINNING}) FROM ${STATE_FROM})`;

const READ_SNAPSHOT_NAME = statement<{ name: string | null }>(
  'events_snapshot',
  `SELECT ${SNAPSHOT_NAME} AS name`,
);

export async function readSnapshotName(db: Queryable): Promise<string | null> {
  return (await db.query(READ_SNAPSHOT_NAME, []))[0]?.name ?? null;
}

export function eventNameOf(text: string): EventName {
  const [id = '', checksum = ''] = text.split(' ');
  return { id: Number(id), checksum };
}

interface NowRow extends StateRow {
  readonly era: number;
  readonly xid: string | null;
  readonly id: number;
  readonly checksum: string;
  readonly newestXid: string | null;
  readonly newestId: number;
  readonly newestChecksum: string;
  readonly running: readonly string[];
}

const READ_NOW = statement<NowRow>(
  'events_now',
  `SELECT ${STATE_COLUMNS}, settled.*, newest.xid::text AS "newestXid", newest.id AS "newestId", newest.checksum AS "newestChecksum",
     ARRAY (SELECT xact::text FROM pg_snapshot_xip(pg_current_snapshot()) AS runs(xact) WHERE runs.xact < newest.xid ORDER BY runs.xact DESC) AS running
   FROM ${STATE_FROM} LEFT JOIN LATERAL (
     SELECT era, xid::text, id, ${CHECKSUM_SQL} AS checksum FROM events WHERE ${SETTLED} ORDER BY era DESC, events.xid DESC, id DESC LIMIT 1) AS settled ON true
   LEFT JOIN LATERAL (
     SELECT xid, id, ${CHECKSUM_SQL} AS checksum FROM events WHERE ${BLOCKED} ORDER BY xid DESC, id DESC LIMIT 1) AS newest ON true`,
);

function beforeOf({ newestXid, newestId, newestChecksum, running }: NowRow): CommittedBefore | undefined {
  // With more transactions than fit into an id, the reader also gets older events, but loses none.
  if (newestXid === null || running.length > MAX_RUNNING) return undefined;
  const newest = positionOf(CURRENT_LOG_EPOCH, newestXid, newestId, newestChecksum);
  return { ...newest, running: running.map(BigInt) };
}

/**
 * Reads the end of the log for a new reader, with the committed events that are still blocked. Opens a new or
 * restored log.
 * @throws {DatabaseError}
 */
export async function readNow(database: Database, log: Logger): Promise<ReaderPosition> {
  let [row] = await database.query(READ_NOW, []);
  if (row === undefined) {
    await openLog(database, log);
    [row] = await database.query(READ_NOW, []);
  }
  if (row === undefined) throw new Error('the event log has no state row');
  const { generation, first } = toLogState(row);
  const { era, xid, id, checksum } = row;
  const settled = xid === null ? first : positionOf(era, xid, id, checksum);
  return { generation, ...(isAfter(first, settled) ? first : settled), before: beforeOf(row) };
}

const READ_STATE = statement<StateRow>('events_state', `SELECT ${STATE_COLUMNS} FROM ${STATE_FROM}`);

export async function readFirst(db: Queryable): Promise<ChecksummedPosition> {
  const [row] = await db.query(READ_STATE, []);
  if (row === undefined) throw new Error('the event log has no state row');
  return toLogState(row).first;
}

export type KnownEvent = Omit<ReaderPosition, 'before'>;

interface KnownRow extends StateRow {
  readonly n: number;
  readonly era: number;
  readonly xid: string;
  readonly id: number;
}

const FIND = statement<KnownRow>(
  'events_find',
  `SELECT ${STATE_COLUMNS}, asked.n, base.era, base.xid::text, base.id
   FROM ${STATE_FROM}, unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked(number, checksum, n),
     LATERAL ${logPositionSql('asked.number', 'asked.checksum', CHECKSUM_SQL)} AS base`,
);

/**
 * @returns the events in the order given; undefined for an event that is unknown, or after which events were lost
 * @throws {DatabaseError}
 */
export async function findEvents(
  db: Queryable,
  names: readonly EventName[],
): Promise<(KnownEvent | undefined)[]> {
  const rows = await db.query(FIND, [names.map(({ id }) => id), names.map(({ checksum }) => checksum)]);
  const found = new Map(rows.map((row) => [row.n, row]));
  return names.map(({ checksum }, index) => {
    const row = found.get(index + 1);
    if (row === undefined) return undefined;
    const { era, xid, id } = row;
    return { generation: toLogState(row).generation, ...positionOf(era, xid, id, checksum) };
  });
}

/** The deletion of a batch takes a few milliseconds, so it delays no other transaction. */
const BATCH = 1_000;

/** Unblocked events are retained for this time, so that their readers can read them. */
const AFTERWARDS = `interval '2 minutes'`;
const READABLE = `(era, xid) < (${CURRENT_LOG_EPOCH}::smallint,
  least(${HORIZON}, (SELECT held_xid FROM event_log WHERE id = 1 AND held_at > now() - ${AFTERWARDS})))`;

interface Pruned {
  readonly dropped: number;
  readonly era: number | null;
  readonly xid: string | null;
  readonly id: number | null;
}

/**
 * Deletes the oldest readable events and records the last deleted position in one transaction. A reader with an older
 * id therefore gets EVENT_HISTORY_EXPIRED instead of a stream with missing events. Reading only the beginning of the
 * log needs no index by time, which would cost every mutation. $1 is the age limit in milliseconds, $2 the batch
 * size. $3 to $5 are the end of the previous batch, because deleted rows stay in the index until a vacuum.
 */
const PRUNE = statement<Pruned>(
  'events_prune',
  `WITH first AS (SELECT id, created_at FROM events
       WHERE (era, xid, id) > ($3::smallint, $4::text::xid8, $5::bigint) AND ${READABLE} ORDER BY era, xid, id LIMIT $2),
     old AS (SELECT id FROM first WHERE created_at < now() - $1::float8 * interval '1 millisecond'),
     dropped AS (DELETE FROM events USING old WHERE events.id = old.id RETURNING era, xid, events.id, ${CHECKSUM_SQL} AS checksum),
     newest AS (SELECT era, xid, id, checksum FROM dropped ORDER BY era DESC, xid DESC, id DESC LIMIT 1),
     recorded AS (UPDATE event_log SET pruned_era = newest.era, pruned_xid = newest.xid, pruned_id = newest.id, pruned_mark = newest.checksum
       FROM newest WHERE event_log.id = 1
         AND (pruned_xid IS NULL OR (pruned_era, pruned_xid, pruned_id) < (newest.era, newest.xid, newest.id)))
   SELECT counted.dropped, newest.era, newest.xid::text, newest.id
   FROM (SELECT count(*)::int AS dropped FROM dropped) AS counted LEFT JOIN newest ON true`,
);

/** $1 is the age limit in milliseconds. */
const RECORD_BLOCKING_TRANSACTION = statement<never>(
  'events_note_held',
  `UPDATE event_log SET held_xid = ${HORIZON}, held_at = now() WHERE id = 1
     AND EXISTS (SELECT FROM events WHERE ${BLOCKED} AND created_at < now() - $1::float8 * interval '1 millisecond' + ${AFTERWARDS})
     AND (held_at > now() - ${AFTERWARDS} AND held_xid < ${HORIZON}) IS NOT TRUE`,
);

/**
 * Deletes events past the age limit by the database's clock, except blocked and recently unblocked events.
 * @throws {DatabaseError}
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
  const dropped = await runInBatches(BATCH, batch, signal);
  await db.query(RECORD_BLOCKING_TRANSACTION, [olderThanMs]);
  return dropped;
}

export const oldEvents = (retentionMs: number): Job => ({
  name: 'events',
  run: (db, signal) => pruneEvents(db, retentionMs, signal),
});
