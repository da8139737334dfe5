import { hash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Client, escapeIdentifier } from 'pg';
import { OperatorError } from '../platform/errors.ts';
import type { Logger } from '../platform/log/log.ts';
import type { Database } from './database.ts';
import { isConnectionLost, isOutage, toDatabaseError } from './errors.ts';
import { createUnreachable, messageOf, setupError } from './preflight.ts';
import { isAborted } from './retries.ts';
import { type Queryable, statement } from './statement.ts';
import { type Endpoint, pgEndpoint } from './transfer/endpoints.ts';

/** A migration that builds an index while its table is in use must consist of this statement only. */
const CONCURRENT_INDEX = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY "(\w+)" ON [^;]+;?$/;

const findConcurrentIndex = (sql: string): string | undefined =>
  CONCURRENT_INDEX.exec(sql.replaceAll(/^--.*$/gm, '').trim())?.[1];

/** PostgreSQL does not allow CONCURRENTLY in a transaction. */
export const withoutConcurrently = (sql: string): string =>
  findConcurrentIndex(sql) === undefined ? sql : sql.replace('INDEX CONCURRENTLY', 'INDEX');

const IS_VALID = 'SELECT indisvalid AS "isValid" FROM pg_catalog.pg_index WHERE indexrelid = to_regclass($1)';

/**
 * An earlier attempt may have built a valid index and crashed before the migration was recorded, so a valid
 * index is kept. PostgreSQL leaves an invalid index after a failed attempt, so that index is built again.
 * @throws pg's errors. The index does not exist then, unless the connection was lost.
 */
async function buildConcurrently(client: Client, index: string, sql: string): Promise<void> {
  const name = escapeIdentifier(index);
  const drop = () => client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  const [found] = (await client.query<{ isValid: boolean }>(IS_VALID, [name])).rows;
  if (found?.isValid === true) return;
  if (found !== undefined) await drop();
  try {
    await client.query(sql);
  } catch (error) {
    if (toDatabaseError(error).kind !== 'unavailable') await drop();
    throw error;
  }
}

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** The applied migrations of the database do not match the checked-in migrations. */
export class MigrationError extends OperatorError {}

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));

/** The advisory lock of Prisma Migrate, so that Prisma Migrate and this code exclude each other. */
const PRISMA_LOCK = 72_707_369;

/** The pauses add up to 6 s, enough for a server that restarts. */
const MAX_PAUSES = 6;
const FIRST_PAUSE_MS = 100;

/** Limits the wait of requests that queue behind a migration's lock request. */
const LOCK_LIMIT_MS = 2_000;
/** The tries and the pauses between them take about a minute. */
const MAX_TRIES = 10;
const FIRST_LOCK_PAUSE_MS = 500;
const LONGEST_LOCK_PAUSE_MS = 8_000;
const LOCK_RECHECK_MS = 100;

/** Prisma Migrate creates the table with the same definition. */
const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id" VARCHAR(36) PRIMARY KEY NOT NULL, "checksum" VARCHAR(64) NOT NULL, "finished_at" TIMESTAMPTZ,
  "migration_name" VARCHAR(255) NOT NULL, "logs" TEXT, "rolled_back_at" TIMESTAMPTZ,
  "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(), "applied_steps_count" INTEGER NOT NULL DEFAULT 0)`;

function readMigrations(): Migration[] {
  return readdirSync(MIGRATIONS_FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const sql = readFileSync(join(MIGRATIONS_FOLDER, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: hash('sha256', sql, 'hex') };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

export type AppliedMigration = Omit<Migration, 'sql'>;

interface Applied extends AppliedMigration {
  readonly isFinished: boolean;
}

const APPLIED = `SELECT "migration_name" AS name, "checksum", "finished_at" IS NOT NULL AS "isFinished"
  FROM "_prisma_migrations" WHERE "rolled_back_at" IS NULL`;

function findUnknown(applied: readonly AppliedMigration[]): string[] {
  const known = new Set(readMigrations().map(({ name }) => name));
  return applied.flatMap(({ name }) => (known.has(name) ? [] : [name]));
}

function findPending(applied: readonly Applied[]): Migration[] {
  const byName = new Map(applied.map((row) => [row.name, row]));
  return readMigrations().filter(({ name, checksum }) => {
    const row = byName.get(name);
    if (row === undefined) return true;
    if (!row.isFinished)
      throw new MigrationError(
        `Migration ${name} was started but not finished. Repair the database, then mark the migration with "prisma migrate resolve".`,
      );
    if (row.checksum !== checksum)
      throw new MigrationError(`The text of migration ${name} differs from the one that was applied.`);
    return false;
  });
}

async function record(endpoint: Endpoint, { name, checksum }: Migration): Promise<void> {
  await endpoint.rows(
    'INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "started_at", "finished_at", "applied_steps_count") VALUES ($1, $2, $3, now(), clock_timestamp(), 1)',
    [randomUUID(), checksum, name],
  );
}

async function apply(endpoint: Endpoint, migration: Migration): Promise<void> {
  await endpoint.rows(withoutConcurrently(migration.sql));
  await record(endpoint, migration);
}

/** The transaction ensures that a crash leaves no migration half applied. */
async function applyAlone(client: Client, migration: Migration, mayBeConcurrent: boolean): Promise<void> {
  const index = mayBeConcurrent ? findConcurrentIndex(migration.sql) : undefined;
  if (index !== undefined) {
    await buildConcurrently(client, index, migration.sql);
    return record(pgEndpoint(client), migration);
  }
  await client.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_LIMIT_MS}`);
  await apply(pgEndpoint(client), migration);
  await client.query('COMMIT');
}

function toMigrationError({ name }: Migration, error: unknown): unknown {
  const { kind, cause } = toDatabaseError(error);
  if (kind === 'unavailable' || setupError('', error) !== error) return error;
  return new MigrationError(
    `Migration ${name} failed and was rolled back: it has changed nothing, and the running version continues. PostgreSQL says: ${messageOf(cause)}. Correct what that names, and run it again.`,
    { cause: error },
  );
}

/** Requests that queue behind the migration's lock request run during the pause. */
async function applyPatiently(client: Client, migration: Migration, mayBeConcurrent: boolean): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await applyAlone(client, migration, mayBeConcurrent);
    } catch (error) {
      if (!isAborted(toDatabaseError(error).kind)) throw toMigrationError(migration, error);
      await client.query('ROLLBACK');
      if (tries === MAX_TRIES)
        throw new MigrationError(
          `Migration ${migration.name} was not applied: other transactions have locked a table that it changes. End those that take long (pg_stat_activity shows them), then run it again.`,
        );
      await delay(Math.min(FIRST_LOCK_PAUSE_MS * 2 ** (tries - 1), LONGEST_LOCK_PAUSE_MS));
    }
  }
}

/**
 * A role without the right to create schemas can use a schema that exists, so CREATE SCHEMA is not tried on
 * it.
 */
async function makeSchema(endpoint: Endpoint, schema: string): Promise<void> {
  const rows = await endpoint.rows('SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1', [schema]);
  if (rows.length === 0) await endpoint.rows(`CREATE SCHEMA ${escapeIdentifier(schema)}`);
}

async function prepare(endpoint: Endpoint, schema: string): Promise<Migration[]> {
  await makeSchema(endpoint, schema);
  await endpoint.rows(CREATE_TABLE);
  return findPending(await endpoint.rows<Applied>(APPLIED));
}

async function applyAll(client: Client, { schema, kind }: Database): Promise<string[]> {
  const pending = await prepare(pgEndpoint(client), schema);
  for (const migration of pending) await applyPatiently(client, migration, kind === 'postgres');
  return pending.map(({ name }) => name);
}

/**
 * Polls for the lock. A statement that waits for the lock would hold a snapshot, and CREATE INDEX
 * CONCURRENTLY waits for old snapshots.
 */
async function waitForLock(client: Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ isFree: boolean }>('SELECT pg_try_advisory_lock($1) AS "isFree"', [
      PRISMA_LOCK,
    ]);
    if (rows[0]?.isFree === true) return;
    await delay(LOCK_RECHECK_MS);
  }
}

/** Migrations bypass a pooler, so their setting may differ from the setting for requests. */
function explain({ kind, directSetting }: Database, error: unknown): unknown {
  const explained = setupError(directSetting, error);
  const isUnreachable = explained === error && kind === 'postgres' && isOutage(error);
  return isUnreachable ? createUnreachable(directSetting, error) : explained;
}

/**
 * If several processes start at the same time, one process migrates while the others wait. The history is in
 * Prisma Migrate's table, so either tool can continue. A lost connection is retried, because each migration
 * is atomic.
 * @returns the names of the applied migrations.
 * @throws {MigrationError | OperatorError} and pg's errors.
 */
export async function migrate(database: Database): Promise<string[]> {
  let lost = false;
  for (let pauses = 0; ; pauses += 1) {
    try {
      return await database.alone(async (client) => {
        await waitForLock(client);
        const applied = await applyAll(client, database);
        await client.query('SELECT pg_advisory_unlock($1)', [PRISMA_LOCK]);
        return applied;
      });
    } catch (error) {
      // A server that was never reachable is reported immediately, without retries.
      lost ||= isConnectionLost(error);
      if (!lost || pauses === MAX_PAUSES || toDatabaseError(error).kind !== 'unavailable')
        throw explain(database, error);
      await delay(FIRST_PAUSE_MS * 2 ** pauses);
    }
  }
}

export async function holdMigrations(endpoint: Endpoint): Promise<void> {
  await endpoint.rows(`SELECT pg_advisory_xact_lock(${PRISMA_LOCK})`);
}

const LOOK = statement<{ found: boolean; readOnly: boolean }>(
  'migrations_table',
  `SELECT to_regclass('"_prisma_migrations"') IS NOT NULL AS "found", current_setting('transaction_read_only')::bool AS "readOnly"`,
);
const APPLIED_STATEMENT = statement<Applied>('migrations_applied', APPLIED);

async function readState(db: Queryable): Promise<{ applied: Applied[]; readOnly: boolean }> {
  const [{ found, readOnly } = { found: false, readOnly: false }] = await db.query(LOOK, []);
  return { applied: found ? await db.query(APPLIED_STATEMENT, []) : [], readOnly };
}

/** @throws {DatabaseError} */
export async function readApplied(db: Queryable): Promise<AppliedMigration[]> {
  const { applied } = await readState(db);
  return applied.flatMap(({ isFinished, ...migration }) => (isFinished ? migration : []));
}

/**
 * Gives an empty schema the migrations that `origin` has, within a transaction of the caller.
 * @throws {MigrationError} if this version does not know one of the migrations.
 */
export async function migrateTo(
  endpoint: Endpoint,
  schema: string,
  migrations: readonly AppliedMigration[],
  origin: string,
): Promise<void> {
  const applied = migrations.map((migration) => ({ ...migration, isFinished: true }));
  const [unknown] = findUnknown(applied);
  if (unknown !== undefined)
    throw new MigrationError(`${origin} has the migration ${unknown} of a newer version: use that version.`);
  const pending = new Set(findPending(applied).map(({ name }) => name));
  for (const migration of await prepare(endpoint, schema))
    if (!pending.has(migration.name)) await apply(endpoint, migration);
}

/**
 * Runs within a transaction of the caller.
 * @returns the names of the applied migrations.
 */
export async function applyPending(endpoint: Endpoint): Promise<string[]> {
  const pending = findPending(await endpoint.rows<Applied>(APPLIED));
  for (const migration of pending) await apply(endpoint, migration);
  return pending.map(({ name }) => name);
}

/**
 * `onReadOnly` is awaited if the database is read-only at the moment.
 * @throws {DatabaseError}
 * @throws {MigrationError}
 */
export async function pendingMigrations(
  database: Queryable,
  onReadOnly: () => Promise<void> = async () => undefined,
): Promise<string[]> {
  const { applied, readOnly } = await readState(database);
  if (readOnly) await onReadOnly();
  return findPending(applied).map(({ name }) => name);
}

/** @throws {DatabaseError} */
export async function unknownMigrations(database: Queryable): Promise<string[]> {
  return findUnknown((await readState(database)).applied);
}

const RECHECK_MS = 2_000;

async function logOnceApplied(database: Database, log: Logger): Promise<void> {
  const sinceMs = performance.now();
  for (;;) {
    await delay(RECHECK_MS, undefined, { ref: false });
    if (database.watch.closed) return;
    try {
      if ((await pendingMigrations(database)).length > 0) continue;
      return log.emit('migrations.up_to_date', {
        durationSeconds: Math.round((performance.now() - sinceMs) / 1_000),
      });
    } catch (error) {
      if (isOutage(error)) continue;
      return log.emit('migrations.read_failed', { err: error });
    }
  }
}

/**
 * This version runs on migrations of a newer version, because migrations only add.
 * @throws {DatabaseError}
 * @throws {DatabaseSetupError}
 */
export async function logMigrationState(database: Database, log: Logger): Promise<void> {
  try {
    const unknown = await unknownMigrations(database);
    if (unknown.length > 0) log.emit('migrations.newer', { migrations: unknown });
    const pending = await pendingMigrations(database);
    if (pending.length === 0) return;
    log.emit('migrations.pending', { migrations: pending });
    void logOnceApplied(database, log);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw setupError('DATABASE_URL', error);
    log.emit('migrations.mismatch', { reason: error.message });
  }
}
