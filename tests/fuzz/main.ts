/**
 * Random operations against the service as it ships, beside what the contract says of them: `npm run test:fuzz -- --help`.
 * It exits with 1 where a response differs, with 2 for wrong options.
 */
import { Command } from 'commander';
import { fuzz } from './fuzz.ts';
import { wholeNumber } from './whole-number.ts';

interface Options {
  readonly seconds?: number;
  readonly count?: number;
  readonly seed: number;
  readonly from: number;
  readonly reports: number;
}

const DEFAULT_SECONDS = 60;

const { PROPERTY_SEED = '' } = process.env;
const defaultSeed = PROPERTY_SEED === '' ? Math.floor(Math.random() * 2 ** 32) : Number(PROPERTY_SEED);

const options = new Command('npm run test:fuzz --')
  .description(
    'Compares the service with the contract on random operations; on PostgreSQL if DATABASE_URL is set.',
  )
  .option('--seconds <n>', `run for this long; ${DEFAULT_SECONDS} without --count`, wholeNumber)
  .option('--count <n>', 'the number of cases', wholeNumber)
  .option('--seed <n>', 'the seed of the run, 32 bits', wholeNumber, defaultSeed)
  .option('--from <n>', 'the number of the first case', wholeNumber, 0)
  .option('--reports <n>', 'stop after this many differences', wholeNumber, 1)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .parse()
  .opts<Options>();

const seconds = options.seconds ?? (options.count === undefined ? DEFAULT_SECONDS : Number.POSITIVE_INFINITY);
const print = (text: string) => void process.stdout.write(`${text}\n`);
const { tally, differences } = await fuzz({
  ...options,
  count: options.count ?? Number.POSITIVE_INFINITY,
  seconds,
  print,
});
print(`Seed ${options.seed}. ${tally}`);
print(differences === 0 ? 'No difference.' : `${differences} differences.`);
process.exit(differences === 0 ? 0 : 1);
