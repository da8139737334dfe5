import { describe } from 'vitest';
import { startOwnPostgres } from '../support/processes/own-postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { countRows } from './counting.ts';
import { areDoneOnce } from './done-once.ts';
import type { Ways } from './keyed-posts.ts';
import { makeKey, ownDatabase, UNLIMITED } from './own-database.ts';
import { restartedServer } from './restarted-server.ts';
import { type Outcome, runRounds } from './rounds.ts';

async function killServer(keys: number, ways: Ways): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const database = { DATABASE_URL: await ownDatabase() };
  const server = await restartedServer(dataDir, { ...UNLIMITED, ...database });
  const apiKey = await makeKey(dataDir, database);
  return runRounds({
    keys,
    ways,
    apiKey,
    target: server,
    crash: server.crash,
    count: () => countRows(database),
  });
}

async function killPostgres(keys: number, ways: Ways): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const postgres = await startOwnPostgres();
  const database = { DATABASE_URL: postgres.url };
  const server = await restartedServer(dataDir, { ...UNLIMITED, ...database });
  const apiKey = await makeKey(dataDir, database);
  return runRounds({
    keys,
    ways,
    apiKey,
    target: server,
    crash: postgres.crash,
    count: () => countRows(database),
  });
}

describe('Keyed mutations, retried until they are answered', () => {
  areDoneOnce([
    ['the server on PostgreSQL', ['transaction'], killServer],
    ['the server on PostgreSQL', ['statement'], killServer],
    // A retry may go the other way.
    ['the server on PostgreSQL', ['statement', 'transaction'], killServer],
    ['PostgreSQL itself', ['transaction'], killPostgres],
    ['PostgreSQL itself', ['statement'], killPostgres],
  ]);
});
