import fc from 'fast-check';
import { sequences } from './draw.ts';
import { type Move, OPENING } from './moves.ts';
import { Play } from './play.ts';
import { openWorld, type Place } from './world.ts';

export interface SequencesOptions {
  /** How long to go on; or `count`, how many sequences. */
  readonly seconds?: number;
  readonly count?: number;
  /** The first sequence is that of this seed, the next one that of the seed after it. */
  readonly seed: number;
  /** Settings of a migrated database that nobody else uses; with REDIS_URL buckets are shared. */
  readonly database: Place;
  /** The most moves of a sequence. */
  readonly longest?: number;
  /** Whether the network between the second instance and its servers fails, too. */
  readonly storms?: boolean;
}

export interface SequencesReport {
  /** How many sequences were played, and how many moves of each kind. */
  readonly sequences: number;
  readonly moves: Readonly<Record<string, number>>;
  /** How many responses there were of each kind. */
  readonly responses: Readonly<Record<string, number>>;
  /** What broke the contract, with its seed and the smallest sequence that does; undefined where nothing did. */
  readonly failure: string | undefined;
}

const LONGEST = 60;
const SHRINK_MS = 30_000;

/** Lines of the log at level "warn" and above. */
const WARNING = /"level":[456]0/;
const LOG_LINES = 5;

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/**
 * Plays random sequences of moves on two instances, one sequence after the other, and compares all that comes back, and
 * what the tables hold after each move, with a model of the contract. Ends at the first sequence that breaks it.
 * Throws where the database cannot be opened.
 */
export async function runSequences({
  seconds,
  count,
  seed,
  database,
  longest = LONGEST,
  storms = true,
}: SequencesOptions): Promise<SequencesReport> {
  const world = await openWorld(database, storms);
  const moves: Record<string, number> = {};
  const responses: Record<string, number> = {};
  const countIn = (counts: Record<string, number>) => (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const weather = {
    database: storms && world.wire !== undefined,
    redis: storms && world.redisWire !== undefined,
  };
  const startMs = performance.now();
  const endMs = startMs + (seconds ?? Number.POSITIVE_INFINITY) * 1_000;
  const most = count ?? (seconds === undefined ? 1 : Number.POSITIVE_INFINITY);
  /** The first failure of a sequence: what is left after shrinking may be another one. */
  let first: { readonly atMs: number; readonly message: string } | undefined;

  async function play(sequence: readonly Move[]): Promise<void> {
    const game = await Play.begin(world, countIn(responses));
    try {
      for (const move of [...OPENING, ...sequence]) {
        countIn(moves)(move.move);
        await game.make(move);
      }
      await game.end();
    } catch (error) {
      const warnings = world.logged.filter((line) => WARNING.test(line)).slice(-LOG_LINES);
      const message = [messageOf(error), ...warnings.map((line) => `log: ${line.trim()}`)].join('\n');
      first ??= { atMs: performance.now(), message };
      throw error;
    } finally {
      await game.close();
    }
  }

  try {
    let played = 0;
    for (; played < most && performance.now() < endMs; played += 1) {
      const of = seed + played;
      const details = await fc.check(fc.asyncProperty(sequences(weather, longest), play), {
        seed: of,
        numRuns: 1,
        // fast-check leaves off shrinking then, and reports the smallest so far.
        interruptAfterTimeLimit: SHRINK_MS,
        markInterruptAsFailure: false,
        unbiased: true,
      });
      if (!details.failed) continue;
      const [sequence = []] = details.counterexample ?? [];
      const seconds = Math.round(((first?.atMs ?? startMs) - startMs) / 1_000);
      const failure = [
        `seed ${of}, found after ${seconds} s: ${first?.message}`,
        `After ${details.numShrinks} steps of shrinking: ${messageOf(details.errorInstance)}`,
        ...sequence.map((move) => `  ${JSON.stringify(move)}`),
      ].join('\n');
      return { sequences: played + 1, moves, responses, failure };
    }
    return { sequences: played, moves, responses, failure: undefined };
  } finally {
    await world.close();
  }
}
