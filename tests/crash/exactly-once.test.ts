import { describe, expect, it } from 'vitest';
import { startOwnPostgres } from '../support/processes/own-postgres.ts';
import { type Settings, temporaryFolder } from '../support/processes/process.ts';
import { demoKey } from '../support/processes/server.ts';
import { countRows } from './counting.ts';
import type { Ways } from './keyed-posts.ts';
import { makeKey, ownDatabase, UNLIMITED } from './own-database.ts';
import { restartedServer } from './restarted-server.ts';
import { type Outcome, runRounds } from './rounds.ts';

/** CRASH_KEYS says how many for both ways together: each dozen of them sees a crash. */
const KEYS = Math.ceil(Number(process.env.CRASH_KEYS ?? 500) / 2);
/** Enough for a build that gets it wrong to be caught at it. */
const BROKEN_KEYS = 150;

/** Loads the replaced store into the child: nothing in the service itself knows of it. */
const BROKEN = { NODE_OPTIONS: `--import=${new URL('./broken/hook.ts', import.meta.url).href}` };

async function killEmbedded(keys: number, ways: Ways, settings: Settings = {}): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const server = await restartedServer(dataDir, { ...UNLIMITED, ...settings });
  return runRounds({
    keys,
    ways,
    apiKey: await demoKey(dataDir),
    target: server,
    crash: server.crash,
    count: () => server.whileStopped(() => countRows({ DATA_DIR: dataDir })),
  });
}

async function killServer(keys: number, ways: Ways, settings: Settings = {}): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const database = { DATABASE_URL: await ownDatabase() };
  const server = await restartedServer(dataDir, { ...UNLIMITED, ...database, ...settings });
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

function report(what: string, { crashes, posts, events, stored, statuses, different }: Outcome): void {
  const answers = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
  process.stdout.write(
    `${what}: ${crashes} crashes, ${posts} posts, ${events} events, ${stored} responses, ${different.length} different; answers ${answers.join(', ')}\n`,
  );
}

describe('Keyed mutations, retried until they are answered', () => {
  it.each<[string, Ways, (keys: number, ways: Ways) => Promise<Outcome>]>([
    ['the server on the embedded database', ['transaction'], killEmbedded],
    ['the server on the embedded database', ['statement'], killEmbedded],
    ['the server on PostgreSQL', ['transaction'], killServer],
    ['the server on PostgreSQL', ['statement'], killServer],
    // A retry may go the other way.
    ['the server on PostgreSQL', ['statement', 'transaction'], killServer],
    ['PostgreSQL itself', ['transaction'], killPostgres],
    ['PostgreSQL itself', ['statement'], killPostgres],
  ])('are done exactly once though %s is killed again and again, by %j', async (what, ways, kill) => {
    const outcome = await kill(KEYS, ways);
    report(`${what}, by ${ways.join(' and ')}`, outcome);
    expect(outcome).toMatchObject({
      posts: KEYS,
      events: KEYS,
      stored: KEYS,
      different: [],
      unexpected: [],
    });
    // How many depends on how much is answered before the next one comes.
    expect(outcome.crashes).toBeGreaterThan(KEYS / 100);
  });

  it.each([
    ['the embedded database', killEmbedded],
    ['PostgreSQL', killServer],
  ])('would be done twice if the response were stored apart from the writes, on %s', async (what, kill) => {
    const outcome = await kill(BROKEN_KEYS, ['transaction'], BROKEN);
    report(`broken, on ${what}`, outcome);
    expect(outcome.posts).toBeGreaterThan(BROKEN_KEYS);
  });
});
