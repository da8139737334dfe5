/** `npm run test:full`: every test that exists, with a drawn seed. It exits with 1 if a suite failed. */
import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { FULL_SUITES } from '../../tests/stages.ts';
import { type KeptResults, nameSources, readResults, writeResults } from './kept-results.ts';
import { prepareMachine, withCompileCache } from './machine.ts';
import { printResults, runStage, type StageResult } from './run-stage.ts';

const names = FULL_SUITES.map(({ name }) => name);
const command = new Command('npm run test:full --')
  .description(
    'Runs every suite with a drawn seed, and installs what it needs on Debian. Results are kept per commit in .test-results/: the next run on the same sources runs the suites without a result.',
  )
  .argument('[suite...]', `suites to run: ${names.join(', ')}`)
  .option('--seed <n>', 'the seed (default: drawn once per commit)', Number)
  .option('--again', 'also run suites that have a result', false)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .parse();
const chosen = command.args;
const options = command.opts<{ readonly seed?: number; readonly again: boolean }>();
const unknown = chosen.find((name) => !names.includes(name));
if (unknown !== undefined)
  command.error(`There is no suite "${unknown}". The suites are ${names.join(', ')}.`);

const sources = nameSources();
const kept = readResults(sources);
const seed = options.seed ?? kept?.seed ?? randomInt(2 ** 31);
process.stdout.write(`Sources ${sources}, seed ${seed}.\n`);
let results: KeptResults = { sources, seed, suites: kept?.suites ?? {} };
const due = FULL_SUITES.filter(
  ({ name }) =>
    (chosen.length === 0 || chosen.includes(name)) && (options.again || results.suites[name] === undefined),
);
if (due.length > 0)
  await withCompileCache(async (cache) => {
    const given = { ...cache, ...prepareMachine('full'), PROPERTY_SEED: String(seed) };
    for (const suite of due) {
      const result: StageResult = await runStage(suite, given);
      results = { ...results, suites: { ...results.suites, [suite.name]: result } };
      writeResults(sources, results);
    }
  });
const shown = names.flatMap((name) => results.suites[name] ?? []);
printResults(shown, new Map());
const missing = names.filter((name) => results.suites[name] === undefined);
if (missing.length > 0) process.stdout.write(`Without a result: ${missing.join(', ')}.\n`);
process.stdout.write(`Seed ${seed}.\n`);
process.exit(shown.some(({ failures }) => failures.length > 0) ? 1 : 0);
