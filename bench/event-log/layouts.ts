import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { EventName } from '../../src/events/event-id.ts';
import { readNow } from '../../src/events/log.ts';
import { pruneEvents } from '../../src/events/old-events.ts';
import { MARK_SQL } from '../../src/events/position.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createLogger } from '../../src/platform/log.ts';
import { ownerSql } from './writes.ts';

export type LayoutName = 'one table' | 'a partition a day';

/** An event log to measure. */
export interface Log {
  readonly database: Database;
  readonly admin: pg.Client;
  readonly applicationName: string;
  /** Ten connections that write. */
  readonly pool: pg.Pool;
  /** Two that write beside a clean-up. */
  readonly lookers: pg.Pool;
  /** Fills the log with eight days of events up to now. */
  load(): Promise<void>;
  /** As many as a day has, at once, with every index in place. */
  writeDay(): Promise<void>;
  /** Removes the oldest day and marks the log as pruned up to there. */
  removeFirstDay(): Promise<unknown>;
  count(): Promise<number>;
  vacuum(): Promise<void>;
  bytes(): Promise<number>;
  walBytes(): Promise<number>;
  /** Events by their numbers. */
  namesOf(numbers: readonly number[]): Promise<EventName[]>;
}

const DAYS = 8;
const DAY_MS = 24 * 60 * 60_000;
/** Events of an era before the present one may have any transaction id: there is no need to make as many transactions. */
const ERA = 32_766;
const INDEXES = [
  ['events_era_xid_id_idx', 'era, xid, id'],
  ['events_root_id_era_xid_id_idx', 'root_id, era, xid, id'],
  ['events_owner_id_era_xid_id_idx', 'owner_id, era, xid, id'],
] as const;

/** Events $1 to $2 as transactions of one event each, evenly from the first to the last day. A post's id is of its time. */
const fillSql = (startMs: number, stepMs: number) => `
  INSERT INTO events (id, era, xid, kind, root_id, owner_id, created_at)
  SELECT i, ${ERA}, i::text::xid8, 'POST_CREATED',
    (lpad(to_hex((${startMs} + i * ${stepMs}::float8)::bigint), 12, '0') || '7abc8' || substr(md5(i::text), 1, 15))::uuid,
    ${ownerSql('(i * 7919)')}, to_timestamp((${startMs} + i * ${stepMs}::float8) / 1000)
  FROM generate_series($1::bigint, $2::bigint) AS i`;

/** The same table, divided by time: its key must contain the time. */
const divide = (startMs: number) => [
  'ALTER TABLE events RENAME TO events_whole',
  'CREATE TABLE events (LIKE events_whole INCLUDING DEFAULTS, PRIMARY KEY (id, created_at)) PARTITION BY RANGE (created_at)',
  'ALTER SEQUENCE events_id_seq OWNED BY events.id',
  'DROP TABLE events_whole',
  ...Array.from({ length: DAYS + 1 }, (_, day) => {
    const from = `to_timestamp(${(startMs + day * DAY_MS) / 1000})`;
    const to = day === DAYS ? 'MAXVALUE' : `to_timestamp(${(startMs + (day + 1) * DAY_MS) / 1000})`;
    return `CREATE TABLE events_${day} PARTITION OF events FOR VALUES FROM (${day === 0 ? 'MINVALUE' : from}) TO (${to})`;
  }),
];

/** What a clean-up by partitions would do: the mark of the last event of the day, and the day is gone. */
async function dropFirstDay(admin: pg.Client): Promise<void> {
  await admin.query('BEGIN');
  await admin.query(`UPDATE event_log SET pruned_era = era, pruned_xid = xid, pruned_id = last.id, pruned_mark = mark
    FROM (SELECT era, xid, id, ${MARK_SQL} AS mark FROM events_0 ORDER BY era DESC, xid DESC, id DESC LIMIT 1) AS last`);
  await admin.query('DROP TABLE events_0');
  await admin.query('COMMIT');
}

async function openLog(
  cleanup: AsyncDisposableStack,
  maintenance: pg.Client,
  serverUrl: string,
  { name, events }: { readonly name: LayoutName; readonly events: number },
): Promise<Log> {
  const databaseName = `content_graph_bench_${randomBytes(6).toString('hex')}`;
  await maintenance.query(`CREATE DATABASE ${databaseName} TEMPLATE template0`);
  cleanup.defer(async () => void (await maintenance.query(`DROP DATABASE ${databaseName} WITH (FORCE)`)));
  const applicationName = `bench ${name}`;
  const url = new URL(serverUrl);
  url.pathname = `/${databaseName}`;
  const connectionString = url.href;
  const log = createLogger({ level: 'warn', pretty: false });
  url.searchParams.set('application_name', applicationName);
  const config = loadConfig({ DATABASE_URL: url.href });
  const database = await openDatabase({ config, log, namedStatements: true });
  cleanup.defer(() => database.close());
  await migrate(database);
  await readNow(database, log);
  const admin = new pg.Client({ connectionString });
  await admin.connect();
  cleanup.defer(() => admin.end());
  await admin.query(
    `SET synchronous_commit = off; SET maintenance_work_mem = '1GB'; SET application_name = '${applicationName}'`,
  );
  const poolOf = (max: number, name: string) => {
    const pool = new pg.Pool({ connectionString, application_name: name, max });
    cleanup.defer(() => pool.end());
    return pool;
  };
  const one = async (text: string) => Number((await admin.query<{ n: string }>(text)).rows[0]?.n);
  const endMs = Date.now();
  const startMs = endMs - DAYS * DAY_MS;
  const fill = fillSql(startMs, (DAYS * DAY_MS) / events);
  const aDay = Math.ceil(events / DAYS);
  if (name === 'a partition a day') for (const text of divide(startMs)) await admin.query(text);
  return {
    database,
    admin,
    applicationName,
    pool: poolOf(10, applicationName),
    lookers: poolOf(2, 'bench lookers'),
    async load() {
      const { rows } = await admin.query<{ name: string; definition: string }>(
        `SELECT conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conrelid = 'events'::regclass AND contype = 'p'`,
      );
      // An index that is made afterwards is made at once, and as small as it can be.
      for (const { name: key } of rows) await admin.query(`ALTER TABLE events DROP CONSTRAINT ${key}`);
      for (const [index] of INDEXES) await admin.query(`DROP INDEX IF EXISTS ${index}`);
      for (let from = 1; from <= events; from += aDay)
        await admin.query(fill, [from, Math.min(from + aDay - 1, events)]);
      for (const { name: key, definition } of rows)
        await admin.query(`ALTER TABLE events ADD CONSTRAINT ${key} ${definition}`);
      for (const [index, columns] of INDEXES)
        await admin.query(`CREATE INDEX ${index} ON events (${columns})`);
      await admin.query(`SELECT setval('events_id_seq', ${events * 2})`);
      await admin.query('VACUUM (ANALYZE) events');
      await admin.query('CHECKPOINT');
    },
    async writeDay() {
      await admin.query(fill, [events + 1, events + aDay]);
    },
    removeFirstDay: () =>
      name === 'one table' ? pruneEvents(database, Date.now() - startMs - DAY_MS) : dropFirstDay(admin),
    count: () => one('SELECT count(*) AS n FROM events'),
    async vacuum() {
      await admin.query('VACUUM events');
    },
    bytes: () =>
      one(
        `SELECT sum(pg_total_relation_size(oid)) AS n FROM pg_class WHERE relkind = 'r' AND relname ~ '^events(_[0-9]+)?$'`,
      ),
    walBytes: () => one(`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS n`),
    async namesOf(numbers) {
      const { rows } = await admin.query<{ id: string; mark: string }>(
        `SELECT id, ${MARK_SQL} AS mark FROM events WHERE id = ANY($1::bigint[])`,
        [numbers],
      );
      return rows.map(({ id, mark }) => ({ id: Number(id), mark }));
    },
  };
}

/** Both layouts, each in a database of its own. */
export async function openLogs(
  cleanup: AsyncDisposableStack,
  maintenance: pg.Client,
  serverUrl: string,
  events: number,
): Promise<ReadonlyMap<LayoutName, Log>> {
  const logs = new Map<LayoutName, Log>();
  for (const name of ['one table', 'a partition a day'] as const)
    logs.set(name, await openLog(cleanup, maintenance, serverUrl, { name, events }));
  return logs;
}
