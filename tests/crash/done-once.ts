import { expect, it } from 'vitest';
import type { Settings } from '../support/processes/process.ts';
import type { Ways } from './keyed-posts.ts';
import type { Outcome } from './rounds.ts';

/** CRASH_KEYS says how many for both ways together: each dozen of them sees a crash. */
const KEYS = Math.ceil(Number(process.env.CRASH_KEYS ?? 500) / 2);
/** Enough for a build that gets it wrong to be caught at it. */
const BROKEN_KEYS = 150;

/** Only ends a run that hangs. On a busy machine each of the twenty crashes takes a while: a server starts after it. */
const LIMIT = { timeout: 1_800_000 };

/** Loads the replaced store into the child: nothing in the service itself knows of it. */
const BROKEN = { NODE_OPTIONS: `--import=${new URL('./broken/hook.ts', import.meta.url).href}` };

/** Has so many keyed posts made while something is killed again and again. */
export type Kill = (keys: number, ways: Ways, settings?: Settings) => Promise<Outcome>;

function report(what: string, { crashes, posts, events, stored, statuses, different }: Outcome): void {
  const answers = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
  process.stdout.write(
    `${what}: ${crashes} crashes, ${posts} posts, ${events} events, ${stored} responses, ${different.length} different; answers ${answers.join(', ')}\n`,
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

/** A test that the others would notice. */
export function wouldBeDoneTwice(what: string, kill: Kill): void {
  it(`would be done twice if the response were stored apart from the writes, on ${what}`, LIMIT, async () => {
    const outcome = await kill(BROKEN_KEYS, ['transaction'], BROKEN);
    report(`broken, on ${what}`, outcome);
    expect(outcome.posts).toBeGreaterThan(BROKEN_KEYS);
  });
}
