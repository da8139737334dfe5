import { type Config, misspelledInProcess } from '../../platform/config.ts';
import { messageOf } from '../../platform/db/contact.ts';
import type { Database } from '../../platform/db/database.ts';
import { NUMBERED_TABLES } from '../../platform/db/errors.ts';
import { MigrationError, pendingMigrations, unknownMigrations } from '../../platform/db/migrate.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';

/** The result of one check, as the command prints the result. */
export interface Check {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'error';
  readonly seen: string;
  /** What the operator must do. Null if the status is `ok`. */
  readonly todo: string | null;
}

export const createCheck = (
  check: string,
  seen: string,
  todo: string | null = null,
  status: Check['status'] = todo === null ? 'ok' : 'error',
): Check => ({ check, status, seen, todo });

export function checkSettings({ environment, host, trustProxy, metricsToken }: Config): Check {
  const seen = `valid, for ${environment}`;
  const misspelled = misspelledInProcess().map(({ name, meant }) => `${name} (like ${meant})`);
  if (misspelled.length > 0)
    return createCheck(
      'settings',
      `${seen}; without effect: ${misspelled.join(', ')}`,
      'correct the names, or remove the variables',
      'warning',
    );
  if (environment !== 'production') return createCheck('settings', seen);
  const missing: string[] = [];
  if (trustProxy.length === 0 && host !== '127.0.0.1') missing.push('TRUST_PROXY (the address of the proxy)');
  if (metricsToken === undefined)
    missing.push('METRICS_TOKEN (without it, only this machine reads the metrics)');
  return missing.length === 0
    ? createCheck('settings', seen)
    : createCheck(
        'settings',
        `${seen}; not set: ${missing.join(', ')}`,
        'set them, if they are needed',
        'warning',
      );
}

interface ServerFacts {
  readonly version: string;
  readonly bytes: number;
  readonly readOnly: boolean;
  readonly most: number;
  readonly used: number;
}

const READ_FACTS = statement<ServerFacts>(
  'doctor_look',
  `SELECT current_setting('server_version') AS version, pg_database_size(current_database())::float8 AS bytes,
     current_setting('transaction_read_only')::bool AS "readOnly",
     current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most,
     (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`,
);
/** An instance also listens, cleans up and migrates. */
const CONNECTIONS_BESIDE_POOL = 3;
const MEBIBYTE = 1_048_576;

function checkServer({ database }: Config, { version, bytes, readOnly }: ServerFacts): Check {
  const kind = database.kind === 'embedded' ? `embedded, ${database.dataDir}` : 'a server';
  const seen = `PostgreSQL ${version} (${kind}), ${Math.ceil(bytes / MEBIBYTE)} MiB`;
  return readOnly
    ? createCheck('database', `${seen}, read-only`, 'point DATABASE_URL at the primary')
    : createCheck('database', seen);
}

/** @throws {DatabaseError} */
async function checkMigrations(db: Queryable): Promise<Check> {
  try {
    const [pending, unknown] = [await pendingMigrations(db), await unknownMigrations(db)];
    if (pending.length > 0)
      return createCheck('migrations', `pending: ${pending.join(', ')}`, 'run "npm run -s db:migrate"');
    if (unknown.length === 0) return createCheck('migrations', 'all are applied');
    return createCheck(
      'migrations',
      `of a newer version: ${unknown.join(', ')}`,
      'nothing, if going back to this version is meant; otherwise see which version runs',
      'warning',
    );
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    const todo = 'restore the history, or run the version that belongs to it';
    return createCheck('migrations', messageOf(error), todo);
  }
}

/**
 * Finds sequences that are behind their tables, as after logical replication.
 * @throws {DatabaseError}
 */
async function checkSequences(db: Queryable): Promise<Check> {
  const looks = NUMBERED_TABLES.map(
    (name) => `SELECT '${name}' AS name
      WHERE coalesce(pg_sequence_last_value(pg_get_serial_sequence('${name}', 'id')), 0) < (SELECT max(id) FROM ${name})`,
  );
  const behind = await db.query(
    statement<{ name: string }>('doctor_sequences', looks.join(' UNION ALL ')),
    [],
  );
  if (behind.length === 0) return createCheck('sequences', 'none is behind its table');
  const names = behind.map(({ name }) => name);
  const repairs = names.map(
    (name) => `SELECT setval(pg_get_serial_sequence('${name}', 'id'), (SELECT max(id) FROM ${name}))`,
  );
  return createCheck(
    'sequences',
    `behind: ${names.join(', ')}`,
    `run in the database: ${repairs.join('; ')}`,
  );
}

function checkPool({ database }: Config, { most, used }: ServerFacts): Check[] {
  if (database.kind === 'embedded') return [];
  const own = database.poolSize + CONNECTIONS_BESIDE_POOL;
  const seen = `an instance takes up to ${own} connections; of ${most}, ${used} are in use, so ${Math.floor(most / own)} instances fit`;
  if (used + own <= most) return [createCheck('pool', seen)];
  const todo = 'raise max_connections, lower DATABASE_POOL_SIZE, or put PgBouncer in between';
  return [createCheck('pool', seen, todo, own > most ? 'error' : 'warning')];
}

/** @throws {DatabaseError} */
export async function checkDatabase(config: Config, database: Database): Promise<Check[]> {
  const [facts] = await database.query(READ_FACTS, []);
  if (facts === undefined) throw new Error('the database has returned no row');
  return [
    checkServer(config, facts),
    await checkMigrations(database),
    await checkSequences(database),
    ...checkPool(config, facts),
  ];
}
