import type { QueryResult } from 'pg';
import { readOnlyError, refusedWrite } from './errors.ts';
import { ServerClient, type ServerConnection } from './server-client.ts';

const TIMEOUT_MS = 5_000;

/**
 * Writes 1.4 MB to the disk of the data, and flushes a record to its log. Of both nothing stays. Needs no rights and no
 * session: a table would need the right to create one, and leave dead rows in the catalogues. Where the disk is full, it
 * fails before it has written to the log.
 */
const WRITE = `SELECT set_config('work_mem', '64kB', true), set_config('temp_tablespaces', '', true);
  SELECT count(*) FROM generate_series(1, 100000);
  SELECT CASE WHEN current_setting('transaction_read_only') = 'on' THEN 'read-only'
    ELSE pg_logical_emit_message(true, 'content-graph', 'a try to write')::text END AS written`;

/**
 * Tries to write, on a connection of its own. Resolves to the error with which the server refuses that, to undefined if
 * it does not. Throws pg's errors if the server cannot be asked.
 */
export async function tryToWrite(connection: ServerConnection): Promise<unknown> {
  const client = new ServerClient({
    ...connection,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  // It may break at any time; the statement reports it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    // The types know no texts of several statements.
    const results: unknown = await client.query(WRITE);
    const last = Array.isArray(results) ? (results.at(-1) as QueryResult<{ written: string }>) : undefined;
    return last?.rows[0]?.written === 'read-only' ? readOnlyError() : undefined;
  } catch (error) {
    if (refusedWrite(error) === undefined) throw error;
    return error;
  } finally {
    // After a failure there may be nothing left to close.
    void client.end().catch(() => undefined);
  }
}
