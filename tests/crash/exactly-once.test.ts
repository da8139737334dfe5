import { describe, expect, it } from 'vitest';
import { startOwnPostgres } from '../support/processes/own-postgres.ts';
import { type Settings, temporaryFolder } from '../support/processes/process.ts';
import { demoKey } from '../support/processes/server.ts';
import { countRows } from './counting.ts';
import { makeKey, ownDatabase, UNLIMITED } from './own-database.ts';
import { restartedServer } from './restarted-server.ts';
import { type Outcome, runRounds } from './rounds.ts';

/** CRASH_KEYS says how many for both forms together: each dozen of them sees a crash. */
const KEYS = Math.ceil(Number(process.env.CRASH_KEYS ?? 500) / 2);
/** Enough for a build that gets it wrong to be caught at it. */
const BROKEN_KEYS = 150;

/** The forms in which responses are stored, of every start or of each start in turn. */
type Forms = readonly ('1' | '2')[];
const inForms = (forms: Forms, settings: Settings): Settings[] =>
  forms.map((form) => ({ ...UNLIMITED, ...settings, IDEMPOTENCY_STORED_FORM: form }));
/** Loads the replaced store into the child: nothing in the service itself knows of it. */
const BROKEN = { NODE_OPTIONS: `--import=${new URL('./broken/hook.ts', import.meta.url).href}` };

async function killEmbedded(keys: number, forms: Forms, settings: Settings = {}): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const server = await restartedServer(dataDir, inForms(forms, settings));
  return runRounds({
    keys,
    apiKey: await demoKey(dataDir),
    target: server,
    crash: server.crash,
    count: () => server.whileStopped(() => countRows({ DATA_DIR: dataDir })),
  });
}

async function killServer(keys: number, forms: Forms, settings: Settings = {}): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const database = { DATABASE_URL: await ownDatabase() };
  const server = await restartedServer(dataDir, inForms(forms, { ...database, ...settings }));
  const apiKey = await makeKey(dataDir, database);
  return runRounds({ keys, apiKey, target: server, crash: server.crash, count: () => countRows(database) });
}

async function killPostgres(keys: number, forms: Forms): Promise<Outcome> {
  const dataDir = await temporaryFolder();
  const postgres = await startOwnPostgres();
  const database = { DATABASE_URL: postgres.url };
  const server = await restartedServer(dataDir, inForms(forms, database));
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
  it.each<[string, Forms, (keys: number, forms: Forms) => Promise<Outcome>]>([
    ['the server on the embedded database', ['1'], killEmbedded],
    ['the server on the embedded database', ['2'], killEmbedded],
    ['the server on PostgreSQL', ['1'], killServer],
    ['the server on PostgreSQL', ['2'], killServer],
    // The next start stores in the other form and reads both.
    ['the server on PostgreSQL', ['1', '2'], killServer],
    ['PostgreSQL itself', ['1'], killPostgres],
    ['PostgreSQL itself', ['2'], killPostgres],
  ])('are done exactly once though %s is killed again and again, in form %j', async (what, forms, kill) => {
    const outcome = await kill(KEYS, forms);
    report(`${what}, form ${forms.join(' and ')}`, outcome);
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
    const outcome = await kill(BROKEN_KEYS, ['1'], BROKEN);
    report(`broken, on ${what}`, outcome);
    expect(outcome.posts).toBeGreaterThan(BROKEN_KEYS);
  });
});
