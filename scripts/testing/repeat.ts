/** `npm run test:repeat`: runs test files many times to find out whether time, load or chance decides. */
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { startBusyLoops } from './busy-loops.ts';
import { formatSeconds, ROOT } from './commands.ts';
import { withCompileCache } from './machine.ts';
import { runVitest } from './vitest-run.ts';

const command = new Command('npm run test:repeat --')
  .description(
    'Repeats test files, each time with another seed, and prints the failures with their seeds. Tests run on PostgreSQL if DATABASE_URL is set.',
  )
  .argument('<file...>', 'test files or folders of them, as Vitest takes them')
  .option('--times <n>', 'number of runs', Number, 30)
  .option('--load', 'keep each core busy with a loop during every second run', false)
  .option('--seed <n>', 'the seed of the first run; each next run adds 1', Number, randomInt(2 ** 31))
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .parse();
const files = command.args;
const { times, load, seed } = command.opts<{
  readonly times: number;
  readonly load: boolean;
  readonly seed: number;
}>();
if (!Number.isInteger(times) || times < 1)
  command.error(`--times must be a whole number from 1, but is "${times}".`);
const missing = files.find((file) => !existsSync(join(ROOT, file)));
if (missing !== undefined) command.error(`${missing} does not exist.`);

const failures: string[] = [];
await withCompileCache(async (cache) => {
  for (let run = 0; run < times; run += 1) {
    const isLoaded = load && run % 2 === 1;
    const loops = isLoaded ? startBusyLoops() : undefined;
    const environment = { ...cache, PROPERTY_SEED: String(seed + run) };
    const result = await runVitest({ projects: [], files, environment });
    await loops?.stop();
    const label = `run ${run + 1} of ${times}, seed ${seed + run}${isLoaded ? ', under load' : ''}`;
    process.stdout.write(
      `${label}: ${result.passed} passed, ${result.failed} failed, ${formatSeconds(result.seconds)}\n`,
    );
    for (const failure of result.failures) failures.push(`${label}: ${failure}`);
  }
});
for (const failure of failures) process.stdout.write(`FAILED ${failure}\n`);
process.stdout.write(`${times} runs, ${failures.length} failures.\n`);
process.exit(failures.length === 0 ? 0 : 1);
