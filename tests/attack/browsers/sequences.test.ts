import fc from 'fast-check';
import { it } from 'vitest';
import { BROWSERS } from '../support/browsers.ts';
import { MOVES, type Move, Play } from '../support/sequences/play.ts';
import { useBrowser, useSites } from '../support/visitor.ts';

/** How long to go on: BROWSER_SECONDS=3600 by hand. Otherwise one sequence, that of PROPERTY_SEED. */
const seconds = Number(process.env.BROWSER_SECONDS ?? 0);
const LONGEST = 40;
const LIMIT_MS = 600_000;

const sites = useSites();
const browsers = BROWSERS.map((name) => useBrowser(name));

const moves = fc.array<Move>(
  fc.record({
    move: fc.constantFrom(...MOVES),
    seat: fc.nat({ max: BROWSERS.length - 1 }),
    user: fc.nat({ max: 1 }),
    tab: fc.nat({ max: 2 }),
  }),
  { minLength: LONGEST / 2, maxLength: LONGEST },
);

it(
  'whatever two users do in two browsers, and others do to them, sessions, tokens and grants are what they must be',
  async () => {
    let played = 0;
    const property = fc.asyncProperty(moves, async (sequence) => {
      const visitors = await Promise.all(browsers.map((browser) => browser.open()));
      try {
        const play = await Play.begin(sites(), visitors);
        for (const move of sequence) await play.make(move);
        played += 1;
      } finally {
        await Promise.all(visitors.map(({ context }) => context.close()));
      }
    });
    await fc.assert(
      property,
      seconds === 0
        ? { numRuns: 1, interruptAfterTimeLimit: LIMIT_MS }
        : { numRuns: 1_000_000, interruptAfterTimeLimit: seconds * 1_000 },
    );
    process.stdout.write(`${played} sequences\n`);
  },
  seconds * 1_000 + 2 * LIMIT_MS,
);
