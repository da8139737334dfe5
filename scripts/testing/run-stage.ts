import { findFiles, type Stage, type Step, VITEST_SCRIPTS } from '../../tests/stages.ts';
import { type Environment, formatSeconds, runCommand } from './commands.ts';
import { runVitest, type TestCounts } from './vitest-run.ts';

export interface StageResult extends TestCounts {
  readonly name: string;
  readonly seconds: number;
  /** What failed: tests, or commands with the exit code. */
  readonly failures: readonly string[];
}

const print = (text: string) => void process.stdout.write(`${text}\n`);

/** Gives a step only the services that its stage needs: without DATABASE_URL, tests run on the embedded database. */
function selectServices({ services = [] }: Stage, given: Environment): Environment {
  return {
    DATABASE_URL: services.includes('postgres') ? given.DATABASE_URL : undefined,
    REDIS_URL: services.includes('redis') ? given.REDIS_URL : undefined,
  };
}

/** Prints the files to move to the full run first if the stage exceeds its budget. */
const SLOWEST_FILES = 8;

async function runStep(step: Step, environment: Environment): Promise<Omit<StageResult, 'name'>> {
  if (step.script === undefined || VITEST_SCRIPTS.includes(step.script)) {
    const command =
      step.script === undefined
        ? undefined
        : [process.execPath, `scripts/${step.script.replace(':', '-')}.ts`];
    const result = await runVitest({
      projects: step.projects ?? [],
      files: findFiles(step),
      environment,
      ...(command === undefined ? {} : { command }),
    });
    for (const [file, seconds] of result.fileSeconds.slice(0, SLOWEST_FILES))
      print(`${formatSeconds(seconds).padStart(7)} ${file}`);
    return result;
  }
  const words = ['npm', 'run', '-s', step.script, ...(step.args === undefined ? [] : ['--', ...step.args])];
  const { exit, seconds } = await runCommand(words, environment);
  const failures = exit === 0 ? [] : [`${words.join(' ')} exited with ${exit}`];
  return { seconds, passed: 0, failed: failures.length, skipped: 0, failures };
}

/**
 * Runs the steps of a stage one after the other, also after one has failed.
 * @param given DATABASE_URL, REDIS_URL and the seed of the run
 */
export async function runStage(stage: Stage, given: Environment): Promise<StageResult> {
  print(`\n== ${stage.name}`);
  const total = { seconds: 0, passed: 0, failed: 0, skipped: 0 };
  const failures: string[] = [];
  for (const step of stage.steps) {
    const result = await runStep(step, { ...given, ...selectServices(stage, given), ...step.environment });
    total.seconds += result.seconds;
    total.passed += result.passed;
    total.failed += result.failed;
    total.skipped += result.skipped;
    failures.push(...result.failures);
  }
  print(`== ${stage.name}: ${formatSeconds(total.seconds)}, ${failures.length} failures`);
  return { name: stage.name, ...total, failures };
}

/** Prints a line for each stage, each failure, and the counts in the form that CI systems read. */
export function printResults(results: readonly StageResult[], budgets: ReadonlyMap<string, number>): void {
  const width = Math.max(...results.map(({ name }) => name.length));
  print(`\n${'stage'.padEnd(width)}   time  budget  passed  failed  skipped`);
  for (const { name, seconds, passed, failed, skipped } of results) {
    const budget = budgets.get(name);
    const cells = [
      formatSeconds(seconds).padStart(7),
      (budget === undefined ? '' : `${budget} s`).padStart(8),
    ];
    const counts = [passed, failed, skipped].map((count) => String(count).padStart(8));
    const isOver = budget !== undefined && seconds > budget;
    print(`${name.padEnd(width)}${cells.join('')}${counts.join('')}${isOver ? '  over its budget' : ''}`);
  }
  const sum = (countOf: (result: StageResult) => number) =>
    results.reduce((total, result) => total + countOf(result), 0);
  print(`${'total'.padEnd(width)}${formatSeconds(sum(({ seconds }) => seconds)).padStart(7)}`);
  for (const failure of results.flatMap(({ failures }) => failures)) print(`FAILED ${failure}`);
  const skipped = sum((result) => result.skipped);
  print(
    `\n${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`,
  );
}
