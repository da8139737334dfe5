import type { Config } from '../platform/config/config.ts';
import type { Clock } from '../platform/deadline.ts';
import type { Logger } from '../platform/log/log.ts';
import { createOutageReporter } from '../platform/log/log-limits.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import type { Database } from './database.ts';
import { freeBytes } from './embedded/data-dir.ts';
import { findLogLevel } from './errors.ts';
import { type Queryable, statement } from './statement.ts';

const INTERVAL_MS = 60_000;
/** A difference of less than 2 s has no visible effect. */
const MOST_MS = 2_000;

const NOW = statement<{ ms: number }>(
  'clock_now',
  'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
);

/**
 * All delay may be in one direction of the round trip, so the clocks differ by at least `surelyMs`.
 * @throws {DatabaseError}
 */
async function compareClock(db: Queryable, clock: Clock): Promise<{ aheadMs: number; surelyMs: number }> {
  const beforeMs = clock.now();
  const [row] = await db.query(NOW, []);
  const afterMs = clock.now();
  if (row === undefined) throw new Error('the database has returned no row');
  const aheadMs = Math.round((beforeMs + afterMs) / 2 - row.ms);
  return { aheadMs, surelyMs: Math.max(0, Math.abs(aheadMs) - Math.abs(afterMs - beforeMs) / 2) };
}

/** `clock` of the result allows for the difference. */
export function watchClock(database: Queryable, clock: Clock, metrics: Metrics, log: Logger) {
  let aheadMs = 0;
  let wrongByMs = 0;
  let closed = false;
  metrics.gauge(
    'content_graph_clock_offset_seconds',
    'Offset of this machine’s clock to the database’s clock. Positive if ahead.',
    () => aheadMs / 1_000,
  );
  const outage = createOutageReporter(log, 'clock.skewed', 'clock.recovered');

  async function look(): Promise<void> {
    try {
      const found = await compareClock(database, clock);
      if (closed) return;
      aheadMs = found.aheadMs;
      wrongByMs = found.surelyMs > MOST_MS ? aheadMs : 0;
      if (wrongByMs === 0) return outage.over();
      outage.failed({
        offsetSeconds: aheadMs / 1_000,
        hint: 'set both by a time service (NTP); this instance allows for the difference until then',
      });
    } catch (error) {
      if (!closed) log.emit('clock.check_failed', { err: error }, findLogLevel(error));
    }
  }

  const timer = setInterval(look, INTERVAL_MS).unref();
  void look();
  return {
    clock: { ...clock, now: () => clock.now() - wrongByMs },
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}

/**
 * NaN if the data directory is missing, which the log reports. The scrape must not fail, because the other
 * metrics matter most then.
 */
function freeOn(dataDir: string): number {
  try {
    return freeBytes(dataDir) ?? Number.NaN;
  } catch {
    return Number.NaN;
  }
}

/** A scrape sends no statement. */
export function registerDatabaseMetrics(
  metrics: Metrics,
  { statistics, watch }: Database,
  { database }: Pick<Config, 'database'>,
): void {
  if (database.kind === 'embedded')
    metrics.gauge(
      'content_graph_data_disk_available_bytes',
      'Bytes that can be written to the disk of DATA_DIR. Absent with PostgreSQL.',
      () => freeOn(database.dataDir),
    );
  const { statements, waits, failures, pool } = statistics;
  metrics.readHistogram(
    'content_graph_database_statement_duration_seconds',
    'Time from sending a statement until its result is complete.',
    [],
    () => [[{}, statements]],
  );
  metrics.readHistogram(
    'content_graph_database_connection_wait_seconds',
    'Time that an operation waits for a connection.',
    [],
    () => [[{}, waits]],
  );
  for (const [name, help, state] of [
    ['max', 'Maximum connections of the pool.', 'most'],
    ['open', 'Open connections.', 'open'],
    ['in_use', 'Connections in use.', 'inUse'],
    ['waiting', 'Requests waiting for a connection.', 'waiting'],
  ] as const)
    metrics.gauge(`content_graph_database_connections_${name}`, help, () => pool()[state]);
  metrics.gauge(
    'content_graph_database_up',
    'Whether the database is reachable and writable, as of its last use or check.',
    () => (statistics.up && watch.writeProblem === undefined ? 1 : 0),
  );
  metrics.gauge(
    'content_graph_database_writable',
    'Whether the database accepts writes (1), or has accepted none since it rejected one (0).',
    () => (watch.writeProblem === undefined ? 1 : 0),
  );
  metrics.readCounter(
    'content_graph_database_errors_total',
    'Failed statements and failed attempts to get a connection.',
    ['kind'],
    failures,
  );
}
