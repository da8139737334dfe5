import { type Client, escapeIdentifier } from 'pg';
import { toDatabaseError } from './errors.ts';

/** The only statement of a migration that builds an index while its table is in use. */
const CONCURRENT_INDEX = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY "(\w+)" ON [^;]+;?$/;

/** The name of the index that a migration builds with CONCURRENTLY; undefined for every other migration. */
export const concurrentIndexOf = (sql: string): string | undefined =>
  CONCURRENT_INDEX.exec(sql.replaceAll(/^--.*$/gm, '').trim())?.[1];

/** The migration for a transaction, which PostgreSQL does not allow to build an index with CONCURRENTLY. */
export const withoutConcurrently = (sql: string): string =>
  concurrentIndexOf(sql) === undefined ? sql : sql.replace('INDEX CONCURRENTLY', 'INDEX');

const IS_VALID = 'SELECT indisvalid AS "isValid" FROM pg_catalog.pg_index WHERE indexrelid = to_regclass($1)';

/**
 * Builds an index outside of a transaction. A valid index of that name is taken as it is: an earlier attempt built it, and
 * crashed before the migration was recorded. PostgreSQL leaves an invalid index where an attempt fails, so that index is built
 * again. Throws pg's errors; the index does not exist then, unless the connection was lost.
 */
export async function buildConcurrently(client: Client, index: string, sql: string): Promise<void> {
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
