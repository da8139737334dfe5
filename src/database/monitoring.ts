import type { Config } from '../platform/config/config.ts';
import type { Clock } from '../platform/deadline.ts';
import type { Logger } from '../platform/log/log.ts';
import { createOutageLog } from '../platform/log/log-limits.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import type { Database } from './database.ts';
import { freeBytes } from './embedded/data-dir.ts';
import { isOutage } from './errors.ts';
import { type Queryable, statement } from './statement.ts';

const INTERVAL_MS = 60_000;
/** A smaller difference has no visible effect. */
const MOST_MS = 2_000;

const NOW = statement<{ ms: number }>(
  'clock_now',
  'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
);

/**
 * Computes how far a clock is ahead of the clock of the database. The round trip is long at most on one way, so the clocks
 * differ by at least `surelyMs`.
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

/** Compares the clock of this machine with the database's every minute, logs a difference, and corrects `clock` for it. */
export function watchClock(database: Queryable, clock: Clock, metrics: Metrics, log: Logger) {
  let aheadMs = 0;
  let wrongByMs = 0;
  let closed = false;
  metrics.gauge(
    'clock_ahead_seconds',
    'How far the clock of this machine is ahead of the database’s; negative: behind it. Looked at every minute.',
    () => aheadMs / 1_000,
  );
  const outage = createOutageLog(
    log,
    'the clock of this machine and that of the database differ',
    'the clock of this machine and that of the database agree again',
  );

  async function look(): Promise<void> {
    try {
      const found = await compareClock(database, clock);
      if (closed) return;
      aheadMs = found.aheadMs;
      wrongByMs = found.surelyMs > MOST_MS ? aheadMs : 0;
      if (wrongByMs === 0) return outage.over();
      outage.failed({
        aheadSeconds: aheadMs / 1_000,
        check: 'set both by a time service (NTP); this instance allows for the difference until then',
      });
    } catch (error) {
      if (!closed)
        log[isOutage(error) ? 'debug' : 'warn']({ err: error }, 'could not read the clock of the database');
    }
  }

  const timer = setInterval(look, INTERVAL_MS).unref();
  void look();
  return {
    /** Corrected as soon as it is known to be wrong. */
    clock: { ...clock, now: () => clock.now() - wrongByMs },
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}

/** NaN if the folder is gone, which the log reports: the scrape must not fail, since the other metrics matter most then. */
function freeOn(dataDir: string): number {
  try {
    return freeBytes(dataDir) ?? Number.NaN;
  } catch {
    return Number.NaN;
  }
}

/** Has the metrics tell what the database knows of itself. Asks it nothing. */
export function registerDatabaseMetrics(
  metrics: Metrics,
  { statistics, watch }: Database,
  { database }: Pick<Config, 'database'>,
): void {
  if (database.kind === 'embedded')
    metrics.gauge(
      'data_disk_free_bytes',
      'How much the embedded database may still write to the disk of DATA_DIR. Not there with PostgreSQL.',
      () => freeOn(database.dataDir),
    );
  const { statements, waits, failures, pool } = statistics;
  metrics.readTimings(
    'database_statement_duration_seconds',
    'Time from when a statement is sent on a connection until it is done.',
    [],
    () => [[{}, statements]],
  );
  metrics.readTimings(
    'database_connection_wait_seconds',
    'Time from when an operation asks for a connection of the pool until it has one.',
    [],
    () => [[{}, waits]],
  );
  metrics.gauge('database_connections_max', 'The most connections that the pool opens.', () => pool().most);
  metrics.gauge('database_connections_open', 'Open connections of the pool.', () => pool().open);
  metrics.gauge('database_connections_in_use', 'Connections of the pool in use.', () => pool().inUse);
  metrics.gauge(
    'database_connections_waiting',
    'How many wait for a connection of the pool.',
    () => pool().waiting,
  );
  metrics.gauge(
    'database_up',
    'Whether the database answered when it was last used or looked for and, as far as known, writes (1), or could not be reached or cannot write (0).',
    () => (statistics.up && watch.writeProblem === undefined ? 1 : 0),
  );
  metrics.gauge(
    'database_writable',
    'Whether the database writes, as far as known (1), or has refused to and has not written since (0): it is full, fails, or is read-only.',
    () => (watch.writeProblem === undefined ? 1 : 0),
  );
  metrics.readTally(
    'database_failures_total',
    'Statements that failed and connections that could not be had, by kind of failure.',
    ['kind'],
    failures,
  );
}
