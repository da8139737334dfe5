import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Settings, temporaryFolder } from '../support/processes/process.ts';
import { admin, demoKey } from '../support/processes/server.ts';
import { countRows } from './counting.ts';
import { startOwnPostgres } from './own-postgres.ts';
import { restartedServer } from './restarted-server.ts';
import { type Outcome, runRounds } from './rounds.ts';

/** CRASH_KEYS says how many: each dozen of them sees a crash. */
const KEYS = Number(process.env.CRASH_KEYS ?? 500);
/** Enough for a build that gets it wrong to be caught at it. */
const BROKEN_KEYS = 150;

const UNLIMITED = {
  RATE_LIMIT_BURST: '1000000',
  RATE_LIMIT_PER_SECOND: '1000000',
  FAILURE_BURST: '1000000',
  LOG_LEVEL: 'error',
};
/** Loads the replaced store into the child: nothing in the service itself knows of it. */
const BROKEN = { NODE_OPTIONS: `--import=${new URL('./broken/hook.ts', import.meta.url).href}` };

/** A new database on the server of DATABASE_URL. */
async function ownDatabase(): Promise<string> {
  const given = process.env.DATABASE_URL;
  if (given === undefined) throw new Error('DATABASE_URL is not set');
  const client = new pg.Client({ connectionString: given });
  await client.connect();
  const name = `content_graph_crash_${randomBytes(6).toString('hex')}`;
  await client.query(`CREATE DATABASE ${name}`);
  onTestFinished(async () => {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await client.end();
  });
  const url = new URL(given);
  url.pathname = `/${name}`;
  return url.href;
}

async function makeKey(dataDir: string, settings: Settings): Promise<string> {
  const email = 'writer@example.com';
  const user = ['user', 'create', '--name', 'Writer', '--email', email, '--password', 'a long password'];
  expect((await admin(user, dataDir, settings)).code).toBe(0);
  const key = ['api-key', 'create', '--user', email, '--name', 'crash', '--scopes', 'posts:read posts:write'];
  return (await admin(key, dataDir, settings)).json.key;
}

async function killEmbedded(keys: number, settings: Settings = {}): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const server = await restartedServer(dataDir, { ...UNLIMITED, ...settings });
  return runRounds({
    keys,
    apiKey: await demoKey(dataDir),
    target: server,
    crash: server.crash,
    count: () => server.whileStopped(() => countRows({ DATA_DIR: dataDir })),
  });
}

async function killServer(keys: number, settings: Settings = {}): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const database = { DATABASE_URL: await ownDatabase() };
  const server = await restartedServer(dataDir, { ...UNLIMITED, ...database, ...settings });
  const apiKey = await makeKey(dataDir, database);
  return runRounds({ keys, apiKey, target: server, crash: server.crash, count: () => countRows(database) });
}

async function killPostgres(keys: number): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const postgres = await startOwnPostgres();
  const database = { DATABASE_URL: postgres.url };
  const server = await restartedServer(dataDir, { ...UNLIMITED, ...database });
  const apiKey = await makeKey(dataDir, database);
  return runRounds({ keys, apiKey, target: server, crash: postgres.crash, count: () => countRows(database) });
}

function report(what: string, { crashes, posts, events, stored, statuses, different }: Outcome): void {
  const answers = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
  process.stdout.write(
    `${what}: ${crashes} crashes, ${posts} posts, ${events} events, ${stored} responses, ${different.length} different; answers ${answers.join(', ')}\n`,
  );
}

describe('Keyed mutations, retried until they are answered', () => {
  it.each([
    ['the server on the embedded database', killEmbedded],
    ['the server on PostgreSQL', killServer],
    ['PostgreSQL itself', killPostgres],
  ])('are done exactly once though %s is killed again and again', async (what, kill) => {
    const outcome = await kill(KEYS);
    report(what, outcome);
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
    const outcome = await kill(BROKEN_KEYS, BROKEN);
    report(`broken, on ${what}`, outcome);
    expect(outcome.posts).toBeGreaterThan(BROKEN_KEYS);
  });
});
