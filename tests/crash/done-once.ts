import { expect, it } from 'vitest';
import type { Ways } from './keyed-posts.ts';
import type { Outcome } from './rounds.ts';

/** CRASH_KEYS says how many for both ways together: each dozen of them sees a crash. */
const KEYS = Math.ceil(Number(process.env.CRASH_KEYS ?? 500) / 2);

/** Only ends a run that hangs. On a busy machine each of the twenty crashes takes a while: a server starts after it. */
const LIMIT = { timeout: 1_800_000 };

/** Has so many keyed posts made while something is killed again and again. */
export type Kill = (keys: number, ways: Ways) => Promise<Outcome>;

function report(what: string, { crashes, posts, events, stored, statuses, different }: Outcome): void {
  const responses = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
  process.stdout.write(
    `${what}: ${crashes} crashes, ${posts} posts, ${events} events, ${stored} responses, ${different.length} different; answers ${responses.join(', ')}\n`,
  );
}

/** Tests of what is killed, by the ways that the posts are made. */
export function areDoneOnce(cases: readonly (readonly [what: string, ways: Ways, kill: Kill])[]): void {
  it.each(cases)(
    'are done exactly once though %s is killed again and again, by %j',
    LIMIT,
    async (what, ways, kill) => {
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
    },
  );
}
