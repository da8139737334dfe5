import { describe } from 'vitest';
import { temporaryFolder } from '../support/processes/process.ts';
import { demoKey } from '../support/processes/server.ts';
import { countRows } from './counting.ts';
import { areDoneOnce } from './done-once.ts';
import type { Ways } from './keyed-posts.ts';
import { UNLIMITED } from './own-database.ts';
import { restartedServer } from './restarted-server.ts';
import { type Outcome, runRounds } from './rounds.ts';

async function killEmbedded(keys: number, ways: Ways): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const server = await restartedServer(dataDir, UNLIMITED);
  return runRounds({
    keys,
    ways,
    apiKey: await demoKey(dataDir),
    target: server,
    crash: server.crash,
    count: () => server.whileStopped(() => countRows({ DATA_DIR: dataDir })),
  });
}

describe('Keyed mutations, retried until they are answered', () => {
  areDoneOnce([
    ['the server on the embedded database', ['transaction'], killEmbedded],
    ['the server on the embedded database', ['statement'], killEmbedded],
  ]);
});
