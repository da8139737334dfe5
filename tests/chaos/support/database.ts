import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { createEmptyDatabase } from '../../support/database/empty-database.ts';
import type { Settings } from '../../support/processes/process.ts';
import { temporaryFolder } from '../../support/processes/process.ts';
import { admin } from '../../support/processes/server.ts';

const SCOPES = 'posts:read posts:write comments:write';

/** A database that goes with the test, with accounts in it. */
export interface OwnDatabase {
  /** A connection to the server, to another database. */
  readonly server: pg.Client;
  readonly name: string;
  readonly url: string;
  /** What an instance needs to use it. */
  readonly settings: Settings;
  /** An API key for each account. */
  readonly keys: readonly string[];
}

/** A database of its own, and in it accounts of these names with an API key each. */
export async function createOwnDatabase(names: readonly string[]): Promise<OwnDatabase> {
  const { server, name, url, drop } = await createEmptyDatabase('chaos', `chaos ${names.join()}`);
  onTestFinished(drop);
  const settings: Settings = { NODE_ENV: 'test', DATABASE_URL: url };
  const dataDir = await temporaryFolder();
  const keys: string[] = [];
  for (const user of names) {
    const email = `${user.toLowerCase()}@example.com`;
    const password = randomBytes(18).toString('base64url');
    const account = ['--name', user, '--email', email, '--password', password];
    await admin(['user', 'create', ...account], dataDir, settings);
    const created = await admin(
      ['api-key', 'create', '--user', email, '--name', 'chaos', '--scopes', SCOPES],
      dataDir,
      settings,
    );
    expect(created.stderr).toBe('');
    keys.push(created.json.key as string);
  }
  return { server, name, url, settings: { ...settings, DATA_DIR: dataDir }, keys };
}

/** The rows of a query, on a connection of its own. */
export async function readRows<Row extends pg.QueryResultRow>(
  { url }: OwnDatabase,
  query: string,
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(query)).rows;
  } finally {
    await client.end();
  }
}
