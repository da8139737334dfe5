import { expect, it } from 'vitest';
import { startOwnPostgres } from '../support/processes/own-postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { countRows } from './counting.ts';
import { publishDraft } from './keyed-posts.ts';
import { makeKey, ownDatabase, UNLIMITED } from './own-database.ts';
import { restartedServer } from './restarted-server.ts';
import { runRounds } from './rounds.ts';

/** CRASH_KEYS says how many: each dozen of them sees a crash. */
const KEYS = Math.ceil(Number(process.env.CRASH_KEYS ?? 500) / 4);

/** Only ends a run that hangs. */
const LIMIT = { timeout: 1_800_000 };

async function aloneOnPostgres() {
  const postgres = await startOwnPostgres();
  return { url: postgres.url, crash: postgres.crash };
}

it.each(['the server', 'PostgreSQL'])(
  'a draft that is published with a key is one post in the end, and never a draft and a post, though %s is killed again and again',
  LIMIT,
  async (killed) => {
    const own = killed === 'PostgreSQL' ? await aloneOnPostgres() : undefined;
    const database = { DATABASE_URL: own?.url ?? (await ownDatabase()) };
    const dataDir = await temporaryFolder();
    const server = await restartedServer(dataDir, { ...UNLIMITED, ...database });
    const both: number[] = [];
    const outcome = await runRounds({
      keys: KEYS,
      ways: ['transaction'],
      make: publishDraft,
      apiKey: await makeKey(dataDir, database),
      target: server,
      async crash() {
        await (own ?? server).crash();
        both.push((await countRows(database)).both);
      },
      count: () => countRows(database),
    });
    expect(outcome).toMatchObject({
      posts: KEYS,
      events: KEYS,
      // One for the draft, and one for the post.
      stored: 2 * KEYS,
      drafts: 0,
      different: [],
      unexpected: [],
    });
    expect(both.filter((count) => count > 0)).toEqual([]);
    expect(outcome.crashes).toBeGreaterThan(KEYS / 100);
    process.stdout.write(`${killed}: ${outcome.crashes} crashes, ${outcome.posts} drafts published\n`);
  },
);
