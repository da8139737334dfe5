import type { Client } from 'pg';
import { z } from 'zod';
import { readApplied } from '../migrate.ts';
import { readSequences, readTables, sequenceForm, tableForm } from './catalog.ts';
import { pgEndpoint } from './endpoints.ts';
import { type CopyPiece, readPieces } from './pieces.ts';

export const contentsForm = z.object({
  migrations: z.array(z.object({ name: z.string(), checksum: z.string() })),
  /** Each table follows the tables that it refers to. */
  tables: z.array(tableForm),
  sequences: z.array(sequenceForm),
});
export type Contents = Readonly<z.infer<typeof contentsForm>>;

export interface Snapshot {
  readonly contents: Contents;
  readonly pieces: AsyncIterable<CopyPiece>;
}

/**
 * Runs `work` on one state of the database, while other clients continue to write.
 * The caller closes the connection if `withSnapshot` throws, which ends the transaction.
 */
export async function withSnapshot<T>(
  client: Client,
  schema: string,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const endpoint = pgEndpoint(client);
  await endpoint.rows(
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0',
  );
  const contents: Contents = {
    migrations: await readApplied(endpoint),
    tables: await readTables(endpoint, schema),
    sequences: await readSequences(endpoint, schema),
  };
  const result = await work({ contents, pieces: readPieces(endpoint, schema, contents.tables) });
  await endpoint.rows('COMMIT');
  return result;
}
