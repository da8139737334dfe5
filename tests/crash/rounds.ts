import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { until } from '../support/processes/process.ts';
import { seededRandom } from '../support/random.ts';
import {
  type Clients,
  createClients,
  createPost,
  type MakePost,
  type Target,
  type Ways,
} from './keyed-posts.ts';

export interface Rounds {
  readonly keys: number;
  readonly ways: Ways;
  /** By one `createPost` if absent. */
  readonly make?: MakePost;
  readonly apiKey: string;
  readonly target: Target;
  /** Kills something and brings it back; resolves once it is back. */
  crash(): Promise<void>;
  /** Counts what is in the database, once nothing writes any more. */
  count(): Promise<{ readonly posts: number; readonly events: number; readonly stored: number }>;
}

/** What came of it all. The first three are as many as there are keys, and the last two are empty, where it is right. */
export interface Outcome {
  readonly posts: number;
  readonly events: number;
  readonly stored: number;
  /** Titles whose stored response is not what the client was told. */
  readonly different: readonly string[];
  /** Statuses that a client never gets from a service whose database dies. */
  readonly unexpected: readonly string[];
  readonly crashes: number;
  readonly statuses: Readonly<Record<string, number>>;
}

const CLIENTS = 8;
/** A crash comes so many responses after the one before, and a little later: in the middle of something. */
const RESPONSES_BETWEEN = { least: 5, range: 15 };
const LATER_MS = 12;
/** After these, a client asks once more. */
const RETRIED = new Set(['409', '503', '504', 'lost']);
const EXPECTED = new Set(['200', ...RETRIED]);

async function crashMeanwhile(clients: Clients, { keys, crash }: Rounds): Promise<number> {
  const random = seededRandom(`crashes: ${expect.getState().currentTestName}`);
  let crashes = 0;
  let next = 0;
  for (;;) {
    next += RESPONSES_BETWEEN.least + random.below(RESPONSES_BETWEEN.range);
    if (next >= keys) return crashes;
    await until('more answers', () => clients.told.size >= next);
    await delay(random.below(LATER_MS));
    await crash();
    crashes += 1;
  }
}

/** Has clients make one post a key while something is killed again and again, then compares. */
export async function runRounds(rounds: Rounds): Promise<Outcome> {
  const { keys, ways, make = createPost, apiKey, target } = rounds;
  const titles = Array.from({ length: keys }, (_, index) => `crash ${index}`);
  const clients = createClients(target, apiKey, titles, { atATime: CLIENTS, ways, make });
  const [crashes] = await Promise.all([crashMeanwhile(clients, rounds), clients.run()]);

  const different: string[] = [];
  for (const title of titles) {
    const again = await until(`the answer to ${title}`, async () => {
      const response = await make(await target.origin(), apiKey, title);
      return !RETRIED.has(String(response?.status ?? 'lost')) && response;
    });
    const same = again.replayed && again.status === 200 && again.text === clients.told.get(title)?.text;
    if (!same) different.push(title);
  }
  // Whoever asks once more must not have made anything new.
  const counted = await rounds.count();
  const statuses = Object.fromEntries(clients.statuses);
  const unexpected = Object.keys(statuses).filter((status) => !EXPECTED.has(status));
  return { ...counted, different, unexpected, crashes, statuses };
}
