/**
 * Random sequences of requests to two instances, beside a model of the contract: `npm run test:fuzz:sequences -- --help`.
 * It exits with 1 if a response differs, with 2 for wrong options.
 */
import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { wholeNumber } from '../whole-number.ts';
import { provideDatabase } from './own-database.ts';
import { runSequences } from './run.ts';

const DEFAULT_SECONDS = 60;

interface Options {
  readonly seconds?: number;
  readonly count?: number;
  readonly seed: number;
}

const { PROPERTY_SEED } = process.env;
const defaultSeed = PROPERTY_SEED === undefined ? randomInt(2 ** 30) : Number(PROPERTY_SEED);

const { seconds, count, seed } = new Command('npm run test:fuzz:sequences --')
  .description('Compares two instances with a model of the contract; on PostgreSQL if DATABASE_URL is set.')
  .option('--seconds <n>', `run for this long; ${DEFAULT_SECONDS} without --count`, wholeNumber)
  .option('--count <n>', 'the number of sequences', wholeNumber)
  .option('--seed <n>', 'the seed of the run', wholeNumber, defaultSeed)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .parse()
  .opts<Options>();

async function main(): Promise<number> {
  const { place, drop } = await provideDatabase(`sequences ${seed}`);
  const startMs = performance.now();
  try {
    const { sequences, moves, responses, failure } = await runSequences({
      seed,
      database: place,
      ...(count === undefined ? { seconds: seconds ?? DEFAULT_SECONDS } : { count }),
    });
    const took = Math.round((performance.now() - startMs) / 1_000);
    process.stdout.write(`seed ${seed}: ${sequences} sequences in ${took} s\n`);
    for (const counts of [moves, responses])
      for (const [what, number] of Object.entries(counts).sort(([, a], [, b]) => b - a))
        process.stdout.write(`${String(number).padStart(8)} ${what}\n`);
    if (failure !== undefined) process.stdout.write(`${failure}\n`);
    return failure === undefined ? 0 : 1;
  } finally {
    await drop();
  }
}

process.exit(await main());
