import { systemClock } from '../../platform/clock.ts';
import { compareClock } from '../../platform/clock-watch.ts';
import type { Config } from '../../platform/config.ts';
import { messageOf } from '../../platform/db/contact.ts';
import type { Database } from '../../platform/db/database.ts';
import { NUMBERED_TABLES } from '../../platform/db/errors.ts';
import { pendingMigrations, unknownMigrations } from '../../platform/db/migrate.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { type Check, failed, ok, warning } from './check.ts';

interface Seen {
  readonly version: string;
  readonly bytes: number;
  readonly readOnly: boolean;
  readonly most: number;
  readonly reserved: number;
  readonly used: number;
}

const LOOK = statement<Seen>(
  'doctor_look',
  `SELECT current_setting('server_version') AS version, pg_database_size(current_database())::float8 AS bytes,
     current_setting('transaction_read_only')::bool AS "readOnly", current_setting('max_connections')::int AS most,
     current_setting('superuser_reserved_connections')::int AS reserved,
     (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`,
);
/** Beside its pool, an instance listens, cleans up and migrates. */
const BESIDE_POOL = 3;
/** A smaller difference has no visible effect. */
const CLOCK_WARNING_S = 2;
/** Tokens of others who go by their own clocks are refused. */
const CLOCK_ERROR_S = 30;

/** Throws DatabaseError. */
async function clock(db: Queryable): Promise<Check> {
  const { aheadMs, surelyMs } = await compareClock(db, systemClock);
  const surelyS = surelyMs / 1_000;
  const seen = `this machine is ${Math.abs(aheadMs / 1_000).toFixed(2)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} the database`;
  if (surelyS < CLOCK_WARNING_S) return ok('clock', seen);
  const todo =
    'set both by a time service (NTP): instances allow for the difference, whoever else checks their tokens does not';
  return surelyS < CLOCK_ERROR_S ? warning('clock', seen, todo) : failed('clock', seen, todo);
}

/** Throws DatabaseError. */
async function migrations(db: Queryable): Promise<Check> {
  const unknown = await unknownMigrations(db);
  let pending: readonly string[];
  try {
    pending = await pendingMigrations(db);
  } catch (error) {
    return failed(
      'migrations',
      messageOf(error),
      'restore the history, or run the version that belongs to it',
    );
  }
  if (pending.length > 0)
    return failed('migrations', `pending: ${pending.join(', ')}`, 'run "npm run -s db:migrate"');
  if (unknown.length > 0)
    return warning(
      'migrations',
      `of a newer version: ${unknown.join(', ')}`,
      'nothing, if going back to this version is meant; otherwise see which version runs',
    );
  return ok('migrations', 'all are applied');
}

/** Throws DatabaseError. */
async function sequences(db: Queryable): Promise<Check> {
  const looks = NUMBERED_TABLES.map(
    (
      name,
    ) => `SELECT '${name}' AS name, coalesce(pg_sequence_last_value(pg_get_serial_sequence('${name}', 'id')), 0)
      < coalesce((SELECT max(id) FROM ${name}), 0) AS behind`,
  );
  const look = statement<{ name: string; behind: boolean }>('doctor_sequences', looks.join(' UNION ALL '));
  const behind = (await db.query(look, [])).filter((row) => row.behind).map(({ name }) => name);
  if (behind.length === 0) return ok('sequences', 'none is behind its table');
  const repair = behind.map(
    (name) => `SELECT setval(pg_get_serial_sequence('${name}', 'id'), (SELECT max(id) FROM ${name}))`,
  );
  return failed('sequences', `behind: ${behind.join(', ')}`, `run in the database: ${repair.join('; ')}`);
}

function pool({ database }: Config, { most, reserved, used }: Seen): Check {
  if (database.kind === 'embedded') return ok('pool', 'the embedded database has connections enough');
  const free = most - reserved;
  const own = database.poolSize + BESIDE_POOL;
  const seen = `an instance takes up to ${own} connections; of ${free} (max_connections ${most}), ${used} are in use, so ${Math.floor(free / own)} instances fit`;
  const todo = 'raise max_connections, lower DATABASE_POOL_SIZE, or put PgBouncer in between';
  if (own > free) return failed('pool', seen, todo);
  return used + own > free ? warning('pool', seen, todo) : ok('pool', seen);
}

const MEBIBYTE = 1_048_576;

/** What can be asked of a database that answers. Throws DatabaseError. */
export async function databaseChecks(config: Config, database: Database): Promise<Check[]> {
  const [seen] = await database.query(LOOK, []);
  if (seen === undefined) throw new Error('the database has returned no row');
  const kind = config.database.kind === 'embedded' ? `embedded, ${config.database.dataDir}` : 'a server';
  const what = `PostgreSQL ${seen.version} (${kind}), ${Math.ceil(seen.bytes / MEBIBYTE)} MiB`;
  return [
    seen.readOnly
      ? failed('database', `${what}, read-only`, 'point DATABASE_URL at the primary')
      : ok('database', what),
    await clock(database),
    await migrations(database),
    await sequences(database),
    pool(config, seen),
  ];
}
