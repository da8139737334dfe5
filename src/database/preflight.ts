import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, QueryResult } from 'pg';
import { OperatorError, onOneLine } from '../platform/errors.ts';
import {
  DatabaseError,
  findWriteRejection,
  getDatabaseErrorCode,
  readOnlyError,
  toDatabaseError,
} from './errors.ts';
import { ServerClient, type ServerConnection } from './pg-client.ts';
import { DEFAULT_SCHEMA, FIXED_SETTINGS } from './session-settings.ts';
import { type Queryable, statement } from './statement.ts';

export interface ServerAddress {
  readonly setting: 'DATABASE_URL' | 'DIRECT_DATABASE_URL' | 'DATA_DIR';
  readonly connection: ServerConnection;
  readonly schema: string | undefined;
  /** Each connection needs a separate session, so that a pooler in transaction mode is an error. */
  readonly hasSessions: boolean;
}

/** Waiting does not help, because the configuration is wrong. */
export class DatabaseSetupError extends OperatorError {}

/** A retry may succeed. */
export class DatabaseUnreachableError extends OperatorError {
  readonly reason: string;
  readonly hint: string;
  constructor(reason: string, hint: string, cause: unknown) {
    super(`The database cannot be reached: ${reason}; ${hint}.`, { cause });
    this.reason = reason;
    this.hint = hint;
  }
}

const MIN_MAJOR = 15;

interface ServerFacts {
  readonly pid: number;
  readonly version: number;
  readonly fixed: readonly string[];
  /** The first schema of the search path, if that schema holds an installation. */
  readonly installedIn: string | null;
}

const PID = 'pg_backend_pid() AS pid';
const LOOK = `SELECT ${PID}, current_setting('server_version_num')::int AS version,
  ARRAY[${FIXED_SETTINGS.map(({ setting }) => `current_setting('${setting}')`).join(', ')}] AS fixed,
  (SELECT n.nspname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relname = '_prisma_migrations' AND n.nspname = current_schema()) AS "installedIn"`;

const CHECKS: readonly [RegExp, string][] = [
  [/^ECONNREFUSED$/, 'check that PostgreSQL is running and listens there'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'check the host name and the name server'],
  [
    /^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$|timeout expired|read timeout/,
    'check the network, the firewall and the address',
  ],
  [/^ENOENT$/, 'check that PostgreSQL is running and has its socket there'],
  [/^(EMFILE|ENFILE)$/, 'no file descriptor is left: raise the limit of open files (ulimit -n, LimitNOFILE)'],
  [
    /^53300$|no more connections allowed/,
    'raise max_connections of PostgreSQL or the limit of the role or the pooler, or lower DATABASE_POOL_SIZE',
  ],
  [/^57P0/, 'PostgreSQL is starting or stopping'],
  [
    /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/,
    'name the certificate of its authority with sslrootcert=FILE in the address; sslmode=no-verify does not check it',
  ],
  [/SSL|TLS|certificate/i, 'check sslmode in the address against the TLS set-up of the server'],
];
const OTHERWISE = 'check that a PostgreSQL server listens there';

const USE_DIRECT = 'set DIRECT_DATABASE_URL to the address of PostgreSQL itself, past the pooler';

const CORRECTIONS: readonly [RegExp, string][] = [
  [/^28P01$|^SASL: .*client password/, 'correct the user or the password'],
  [/unsupported startup parameter/, `this is a connection pooler: ${USE_DIRECT}`],
  [/statement pooling mode/, 'set pool_mode = transaction for this database in the pooler'],
  [/^28/, 'correct the user, or allow it in pg_hba.conf'],
  [/^3D000$/, 'create the database or correct its name'],
];

/** The password must not reach the log. */
function formatTarget({ host, port, user, database }: Client): string {
  return `${host}:${port}, user "${user}", database "${database}"`;
}

export function messageOf(error: unknown): string {
  if (error instanceof DatabaseError && error.cause != null) return messageOf(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  return onOneLine(
    error instanceof Error && error.message !== '' ? error.message : String(getDatabaseErrorCode(error)),
  );
}

const adviceFor = (error: unknown, advice: readonly [RegExp, string][]): string | undefined =>
  advice.find(
    ([pattern]) => pattern.test(getDatabaseErrorCode(error)) || pattern.test(messageOf(error)),
  )?.[1];

/** @param where the setting with the URL of the server. */
export const createUnreachable = (where: string, error: unknown): DatabaseUnreachableError =>
  new DatabaseUnreachableError(`${where}: ${messageOf(error)}`, adviceFor(error, CHECKS) ?? OTHERWISE, error);

function rejection(setting: string, place: string, error: unknown): OperatorError {
  const message = messageOf(error);
  const correction = adviceFor(error, CORRECTIONS);
  return correction === undefined
    ? createUnreachable(`${setting} (${place})`, error)
    : new DatabaseSetupError(`${setting} (${place}) is rejected: ${message}; ${correction}.`, {
        cause: error,
      });
}

function createClient({ setting, connection }: ServerAddress): ServerClient {
  try {
    return new ServerClient({ ...connection, query_timeout: connection.connectionTimeoutMillis });
  } catch (error) {
    // For example, the URL names a certificate file that does not exist.
    throw new DatabaseSetupError(`${setting} cannot be used: ${messageOf(error)}; correct the address.`, {
      cause: error,
    });
  }
}

function findFlaw(
  { version, fixed, installedIn }: ServerFacts,
  schema: string | undefined,
): string | undefined {
  const major = Math.floor(version / 10_000);
  if (major < MIN_MAJOR)
    return `is PostgreSQL ${major}, and the service needs ${MIN_MAJOR} or later: upgrade the server`;
  for (const [index, { value, advice }] of FIXED_SETTINGS.entries()) {
    const found = fixed[index];
    if (found !== undefined && found !== value) return advice(found);
  }
  // The schema that the operator means is ambiguous here, and a wrong guess would write to other tables.
  if (schema === undefined && installedIn !== null && installedIn !== DEFAULT_SCHEMA)
    return `has a search path that leads to the schema "${installedIn}", which holds an installation: add ?schema=${installedIn} to the address, or ?schema=${DEFAULT_SCHEMA} for another one`;
  return undefined;
}

const pidOn = async (client: ServerClient): Promise<number | undefined> =>
  (await client.query<Pick<ServerFacts, 'pid'>>(`SELECT ${PID}`)).rows[0]?.pid;

/**
 * @throws {DatabaseSetupError}
 * @throws {DatabaseUnreachableError}
 */
async function onConnection<T>(
  address: ServerAddress,
  work: (client: ServerClient) => Promise<T>,
): Promise<T> {
  const client = createClient(address);
  // Without a listener, a broken connection would crash the process. The statement reports the error.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw error instanceof OperatorError ? error : rejection(address.setting, formatTarget(client), error);
  } finally {
    void client.end().catch(() => undefined);
  }
}

/**
 * Finds a pooler in transaction mode. A proxy that invents process ids still gives each connection a separate
 * session.
 */
async function sharesSessions(
  address: ServerAddress,
  client: ServerClient,
  { pid }: ServerFacts,
): Promise<boolean> {
  if (client.processID === null || client.processID === pid) return false;
  return (await pidOn(client)) !== pid || (await onConnection(address, pidOn)) === pid;
}

/**
 * @throws {DatabaseSetupError}
 * @throws {DatabaseUnreachableError}
 */
export async function checkConnection(address: ServerAddress): Promise<void> {
  await onConnection(address, async (client) => {
    // The transaction finds a pooler in statement mode, which rejects transactions.
    await client.query('BEGIN');
    const [found] = (await client.query<ServerFacts>(LOOK)).rows;
    await client.query('COMMIT');
    if (found === undefined) return;
    const flaw =
      findFlaw(found, address.schema) ??
      (address.hasSessions && (await sharesSessions(address, client, found))
        ? `leads to a connection pooler that shares sessions: ${USE_DIRECT}`
        : undefined);
    if (flaw !== undefined)
      throw new DatabaseSetupError(`${address.setting} (${formatTarget(client)}) ${flaw}.`);
  });
}

/**
 * Writes 1.4 MB of temporary data to the disk, and flushes a record to the WAL. The statement needs no rights
 * and no session. A table would need the right to create tables, and leave dead rows in the catalogs. If the
 * disk is full, the statement fails before it has written to the WAL.
 */
const WRITE = `SELECT set_config('work_mem', '64kB', true), set_config('temp_tablespaces', '', true);
  SELECT count(*) FROM generate_series(1, 100000);
  SELECT CASE WHEN current_setting('transaction_read_only') = 'on' THEN 'read-only'
    ELSE pg_logical_emit_message(true, 'content-graph', 'a try to write')::text END AS written`;

/**
 * @returns the error with which the server rejects the write, or undefined if the server writes.
 * @throws {DatabaseUnreachableError}
 */
export async function tryToWrite(address: ServerAddress): Promise<unknown> {
  try {
    return await onConnection(address, async (client) => {
      // pg returns one result for each statement, which its types do not declare.
      const results: unknown = await client.query(WRITE);
      const last = Array.isArray(results) ? (results.at(-1) as QueryResult<{ written: string }>) : undefined;
      return last?.rows[0]?.written === 'read-only' ? readOnlyError() : undefined;
    });
  } catch (error) {
    const cause = error instanceof DatabaseUnreachableError ? error.cause : error;
    if (findWriteRejection(cause) === undefined) throw error;
    return cause;
  }
}

/** The user lacks a privilege, or has no schema to create tables in. */
const LACKS_RIGHTS = /^(42501|3F000)$/;

const GRANT_RIGHTS =
  'its user lacks rights; make it the owner of the database, or GRANT what is missing (migrations need CREATE on the schema, which is "public" unless the address says ?schema=NAME)';

/** @returns the error unchanged if the operator cannot correct its cause. */
export function setupError(setting: string, error: unknown): unknown {
  const rejection = findWriteRejection(error);
  if (rejection === undefined && !LACKS_RIGHTS.test(getDatabaseErrorCode(error))) return error;
  const advice = rejection === undefined ? GRANT_RIGHTS : `${rejection.reason}; ${rejection.hint}`;
  const said = messageOf(toDatabaseError(error).cause);
  return new DatabaseSetupError(`The database of ${setting} cannot be used: ${advice} (${said}).`, {
    cause: error,
  });
}

export const demoFile = (dataDir: string) => join(dataDir, 'demo.json');

/** A database with pending migrations may lack the table. */
const HAS_FLAG_TABLE = statement<{ found: boolean }>(
  'demo_markable',
  `SELECT to_regclass('demo_seed') IS NOT NULL AS found`,
);
const HAS_FLAG = statement<{ one: number }>('demo_marked', 'SELECT 1 AS one FROM demo_seed LIMIT 1');

async function hasDemoFlag(db: Queryable): Promise<boolean> {
  const [table] = await db.query(HAS_FLAG_TABLE, []);
  return table?.found === true && (await db.query(HAS_FLAG, [])).length > 0;
}

/**
 * The flag in the database also finds a database that was copied, renamed or exported to a server.
 * @throws {OperatorError} if development mode has seeded the data directory or the database.
 */
export async function assertNotSeeded(
  db: Queryable & { readonly kind: 'embedded' | 'postgres' },
  dataDir: string,
): Promise<void> {
  const embedded = db.kind === 'embedded';
  if (!(embedded && existsSync(demoFile(dataDir))) && !(await hasDemoFlag(db))) return;
  const [place, cure] = embedded
    ? [`embedded database in "${dataDir}"`, 'set DATA_DIR to another folder']
    : ['database of DATABASE_URL', 'name another database'];
  throw new OperatorError(
    `The ${place} was seeded by development: it holds demo accounts whose credentials were printed and written to a file. Production rejects the database: ${cure}.`,
  );
}
