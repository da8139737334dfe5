import { describe } from 'vitest';
import { startOwnPostgres } from '../support/processes/own-postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { countRows } from './counting.ts';
import { areDoneOnce } from './done-once.ts';
import type { Ways } from './keyed-posts.ts';
import { makeKey, ownDatabase, UNLIMITED } from './own-database.ts';
import { restartedServer } from './restarted-server.ts';
import { type Outcome, runRounds } from './rounds.ts';

type Killed = () => Promise<{ readonly url: string; readonly crash?: () => Promise<void> }>;

/** Kills the server, unless the database brings a way to kill itself. */
const killing =
  (open: Killed) =>
  async (keys: number, ways: Ways): Promise<Outcome> => {
    const dataDir = await temporaryFolder();
    const { url, crash } = await open();
    const database = { DATABASE_URL: url };
    const server = await restartedServer(dataDir, { ...UNLIMITED, ...database });
    return runRounds({
      keys,
      ways,
      apiKey: await makeKey(dataDir, database),
      target: server,
      crash: crash ?? server.crash,
      count: () => countRows(database),
    });
  };
const killServer = killing(async () => ({ url: await ownDatabase() }));
const killPostgres = killing(startOwnPostgres);

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
