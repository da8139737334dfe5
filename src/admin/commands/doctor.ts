import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Database } from '../../database/database.ts';
import { requireDatabase } from '../../database/embedded/major-version.ts';
import { NUMBERED_TABLES } from '../../database/errors.ts';
import { MigrationError, pendingMigrations, unknownMigrations } from '../../database/migrate.ts';
import { DatabaseUnreachableError, messageOf } from '../../database/preflight.ts';
import { type Queryable, statement } from '../../database/statement.ts';
import { type Config, ConfigError, misspelledInProcess } from '../../platform/config/config.ts';
import type { CommandServices, DefineCommands } from '../cli/connection.ts';
import { UndoneError } from '../cli/output.ts';

interface DoctorCheck {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'error';
  readonly finding: string;
  /** Null if the status is `ok`. */
  readonly action: string | null;
}

const createCheck = (
  check: string,
  finding: string,
  action: string | null = null,
  status: DoctorCheck['status'] = action === null ? 'ok' : 'error',
): DoctorCheck => ({ check, status, finding, action });

function checkSettings({ environment, host, trustProxy, metricsToken }: Config): DoctorCheck {
  const finding = `valid for ${environment}`;
  const misspelled = misspelledInProcess().map(({ name, meant }) => `${name} (similar to ${meant})`);
  if (misspelled.length > 0)
    return createCheck(
      'settings',
      `${finding}; unknown variables without effect: ${misspelled.join(', ')}`,
      'correct the names, or delete the variables',
      'warning',
    );
  if (environment !== 'production') return createCheck('settings', finding);
  const missing: string[] = [];
  if (trustProxy.length === 0 && host !== '127.0.0.1')
    missing.push('TRUST_PROXY (the IP address of the proxy)');
  if (metricsToken === undefined) missing.push('METRICS_TOKEN (only this machine can read the metrics)');
  return missing.length === 0
    ? createCheck('settings', finding)
    : createCheck(
        'settings',
        `${finding}; not set: ${missing.join(', ')}`,
        'set these settings if you need them',
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
/** An instance has a connection each for LISTEN, jobs and migrations. */
const UNPOOLED_CONNECTIONS = 3;
const MEBIBYTE = 1_048_576;

function checkServer({ database }: Config, { version, bytes, readOnly }: ServerFacts): DoctorCheck {
  const kind = database.kind === 'embedded' ? `embedded, ${database.dataDir}` : 'a server';
  const finding = `PostgreSQL ${version} (${kind}), ${Math.ceil(bytes / MEBIBYTE)} MiB`;
  return readOnly
    ? createCheck('database', `${finding}, read-only`, 'point DATABASE_URL at the primary')
    : createCheck('database', finding);
}

/** @throws {DatabaseError} */
async function checkMigrations(db: Queryable): Promise<DoctorCheck> {
  try {
    const [pending, unknown] = [await pendingMigrations(db), await unknownMigrations(db)];
    if (pending.length > 0)
      return createCheck('migrations', `pending: ${pending.join(', ')}`, 'run "npm run -s db:migrate"');
    if (unknown.length === 0) return createCheck('migrations', 'all migrations are applied');
    return createCheck(
      'migrations',
      `migrations of a newer version are applied: ${unknown.join(', ')}`,
      'do nothing if you have returned to this version; otherwise start the newer version',
      'warning',
    );
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    const action = 'restore the table of migrations, or start the version that matches the table';
    return createCheck('migrations', messageOf(error), action);
  }
}

/**
 * Logical replication leaves sequences behind their tables.
 * @throws {DatabaseError}
 */
async function checkSequences(db: Queryable): Promise<DoctorCheck> {
  const looks = NUMBERED_TABLES.map(
    (name) => `SELECT '${name}' AS name
      WHERE coalesce(pg_sequence_last_value(pg_get_serial_sequence('${name}', 'id')), 0) < (SELECT max(id) FROM ${name})`,
  );
  const behind = await db.query(
    statement<{ name: string }>('doctor_sequences', looks.join(' UNION ALL ')),
    [],
  );
  if (behind.length === 0) return createCheck('sequences', 'no sequence is behind its table');
  const names = behind.map(({ name }) => name);
  const repairs = names.map(
    (name) => `SELECT setval(pg_get_serial_sequence('${name}', 'id'), (SELECT max(id) FROM ${name}))`,
  );
  return createCheck(
    'sequences',
    `sequences are behind their tables: ${names.join(', ')}`,
    `run in the database: ${repairs.join('; ')}`,
  );
}

function checkPool({ database }: Config, { most, used }: ServerFacts): DoctorCheck[] {
  if (database.kind === 'embedded') return [];
  const own = database.poolSize + UNPOOLED_CONNECTIONS;
  const finding = `an instance takes up to ${own} connections; of ${most}, ${used} are in use, so ${Math.floor(most / own)} instances fit`;
  if (used + own <= most) return [createCheck('pool', finding)];
  const action = 'raise max_connections, lower DATABASE_POOL_SIZE, or put PgBouncer in between';
  return [createCheck('pool', finding, action, own > most ? 'error' : 'warning')];
}

/** @throws {DatabaseError} */
async function checkDatabase(config: Config, database: Database): Promise<DoctorCheck[]> {
  const [facts] = await database.query(READ_FACTS, []);
  if (facts === undefined) throw new Error('the database has returned no row');
  return [
    checkServer(config, facts),
    await checkMigrations(database),
    await checkSequences(database),
    ...checkPool(config, facts),
  ];
}

const LIMIT_MS = 5_000;
/**
 * The requests take tokens from one bucket, so that the next request shows whether it uses another bucket.
 */
const MOST_REQUESTS = 20;
const TRIES = 3;

/** Addresses reserved for documentation, which no client has (RFC 5737). */
const [FORGED, OTHER_FORGED] = ['192.0.2.1', '192.0.2.2'];

/** `remaining` is the number of tokens that the client has left. */
async function ask(url: string, forged: string): Promise<{ response: Response; remaining: number }> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': forged,
      'x-request-id': `doctor-${randomUUID()}`,
    },
    body: '{"query":"{ __typename }"}',
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  await response.arrayBuffer();
  return { response, remaining: Number(response.headers.get('x-ratelimit-remaining') ?? Number.NaN) };
}

/**
 * Clients must not be able to choose their IP address with X-Forwarded-For. Rejects if the URL does not
 * respond.
 */
async function checkClientAddress(
  url: string,
  { burst, perSecond }: Config['rateLimit'],
): Promise<DoctorCheck> {
  const count = Math.max(1, Math.min(MOST_REQUESTS, Math.floor(burst / 4)));
  for (let tries = 0; tries < TRIES; tries += 1) {
    const startedMs = performance.now();
    const first = await Promise.all(Array.from({ length: count }, () => ask(url, FORGED)));
    const second = await ask(url, OTHER_FORGED);
    // The bucket has gained a few tokens during the requests. Other clients of the IP address can only have
    // taken tokens.
    const gained = 1 + Math.ceil(((performance.now() - startedMs) / 1_000) * perSecond);
    const most = gained + Math.min(...first.map(({ remaining }) => remaining));
    if (second.remaining > most)
      return createCheck(
        'client-address',
        'clients can choose their IP address: two requests with different X-Forwarded-For count as two clients',
        'configure the proxy to replace X-Forwarded-For or to append to it, and list only proxies in TRUST_PROXY',
      );
    // A separate client would have all of its tokens except one.
    if (burst - 1 > most) return createCheck('client-address', 'X-Forwarded-For of clients is ignored');
  }
  return createCheck(
    'client-address',
    'cannot be checked from outside, because rate limits refill faster than the service responds',
    'send a request with a forged X-Forwarded-For, and look at the IP address in the log',
    'warning',
  );
}

/** Never rejects. */
async function checkProxy({ publicUrl, trustProxy, rateLimit }: Config): Promise<DoctorCheck[]> {
  if (publicUrl === undefined) return [];
  const describe = (finding: string, ...rest: [action?: string, status?: DoctorCheck['status']]) =>
    createCheck('proxy', `${publicUrl} ${finding}`, ...rest);
  try {
    const { response, remaining } = await ask(publicUrl, FORGED);
    if (Number.isNaN(remaining))
      return [
        describe(
          `responds with status ${response.status} and without the headers of this service`,
          'set PUBLIC_URL to the URL of this service',
        ),
      ];
    const address = await checkClientAddress(publicUrl, rateLimit);
    if (response.headers.has('strict-transport-security')) return [describe('responds over TLS'), address];
    if (!publicUrl.startsWith('https:'))
      return [describe('is plain HTTP', 'use a proxy with TLS in front of the service', 'warning'), address];
    const action = `add the IP address of the proxy to TRUST_PROXY (now ${trustProxy.join(', ') || 'empty'}), and configure the proxy to send X-Forwarded-Proto`;
    return [describe('responds, but the service does not recognize TLS at the proxy', action), address];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return [
      describe(
        `does not respond: ${messageOf(cause)}`,
        'check the proxy, the host name and the certificate (NODE_EXTRA_CA_CERTS=FILE trusts a private one)',
      ),
    ];
  }
}

/** Never rejects. */
async function checkRedis({ redisUrl }: Config): Promise<DoctorCheck[]> {
  if (redisUrl === undefined) return [];
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: LIMIT_MS,
    commandTimeout: LIMIT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // The error event has the cause. The error of a command only says that there is no connection.
  let cause: unknown;
  redis.on('error', (error) => {
    cause = error;
  });
  try {
    await redis.connect();
    await redis.ping();
    return [createCheck('redis', 'Redis responds')];
  } catch (error) {
    const action =
      'check that Redis is running, and the host and password in REDIS_URL; until then, each instance has separate rate limits';
    return [createCheck('redis', messageOf(cause ?? error), action)];
  } finally {
    redis.disconnect();
  }
}

/** Never creates, migrates or moves a database. Never rejects. */
async function openAndCheck({ config, open }: CommandServices): Promise<DoctorCheck[]> {
  try {
    if (config.database.kind === 'embedded') requireDatabase(config.database.dataDir);
    const { database } = await open();
    try {
      await database.watch.requireUsable({ direct: true });
      return await checkDatabase(config, database);
    } finally {
      await database.close();
    }
  } catch (error) {
    return error instanceof DatabaseUnreachableError
      ? [createCheck('database', error.reason, error.hint)]
      : [createCheck('database', messageOf(error), 'solve the problem, and run "doctor" again')];
  }
}

/** @throws {UndoneError} if a check has failed. */
function rejectErrors(checks: readonly DoctorCheck[]): readonly DoctorCheck[] {
  const errors = new Set(checks.filter(({ status }) => status === 'error').map(({ check }) => check));
  if (errors.size > 0) throw new UndoneError(`Failed checks: ${[...errors].join(', ')}.`, checks);
  return checks;
}

async function examine(given: CommandServices): Promise<readonly DoctorCheck[]> {
  const { config } = given;
  return rejectErrors([
    checkSettings(config),
    ...(await openAndCheck(given)),
    ...(await checkRedis(config)),
    ...(await checkProxy(config)),
  ]);
}

export const defineDoctorCommand: DefineCommands = ({ add, runWithout }) => {
  add(
    'doctor',
    'Check settings, database, Redis and proxy without changing anything, and print what to do',
  ).action(async () => {
    try {
      await runWithout(examine, { relayed: true });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const action = 'correct the setting, and run "doctor" again: the other checks need valid settings';
      rejectErrors(error.problems.map((problem) => createCheck('settings', problem, action)));
    }
  });
};
