import type { Config } from '../config.ts';
import type { Metrics } from '../metrics.ts';
import type { Database } from './database.ts';
import { freeBytes } from './embedded/folder-watch.ts';

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
