import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommandResult, type Environment, ROOT, runCommand } from './commands.ts';

/** What Vitest is to run. */
export interface VitestRun {
  readonly projects: readonly string[];
  /** Paths from the root folder; without a path, all files of the projects. */
  readonly files?: readonly string[];
  /** The program that passes its arguments to `vitest run`, where it is not Vitest itself. */
  readonly command?: readonly string[];
  readonly environment?: Environment;
}

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface VitestResult extends CommandResult, TestCounts {
  /** File and title of each test that failed, and each file that could not be run. */
  readonly failures: readonly string[];
  /** Seconds of each test file, the slowest first. Files run side by side, so the sum exceeds the time of the run. */
  readonly fileSeconds: readonly (readonly [file: string, seconds: number])[];
}

/** The part of Vitest's JSON report that is read here. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    /** Milliseconds since the epoch. */
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const shortenPath = (file: string) => file.replace(`${ROOT}/`, '');

const measureFiles = ({ testResults }: Report) =>
  testResults
    .map(({ name, startTime, endTime }) => [shortenPath(name), (endTime - startTime) / 1_000] as const)
    .sort(([, one], [, other]) => other - one);

function listFailures({ testResults }: Report): string[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = shortenPath(name);
    const failed = assertionResults.filter((result) => result.status === 'failed');
    if (failed.length > 0) return failed.map(({ fullName }) => `${file}: ${fullName}`);
    return status === 'failed' ? [`${file}: ${message.split('\n', 1)[0]}`] : [];
  });
}

/**
 * Runs Vitest and reads its report. A run that ends without a report, such as one that found no test file, counts as one
 * failure.
 */
export async function runVitest({
  projects,
  files = [],
  command = [join(ROOT, 'node_modules/.bin/vitest'), 'run'],
  environment = {},
}: VitestRun): Promise<VitestResult> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-report-'));
  const reportFile = join(folder, 'report.json');
  try {
    const result = await runCommand(
      [
        ...command,
        ...projects.flatMap((project) => ['--project', project]),
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${reportFile}`,
        ...files,
      ],
      environment,
    );
    const report: Report | undefined = await readFile(reportFile, 'utf8').then(JSON.parse, () => undefined);
    if (report === undefined)
      return {
        ...result,
        passed: 0,
        failed: 1,
        skipped: 0,
        failures: [`vitest exited with ${result.exit}`],
        fileSeconds: [],
      };
    const failures = listFailures(report);
    // Vitest also fails for an error outside of a test, which is in no report.
    if (failures.length === 0 && result.exit !== 0) failures.push(`vitest exited with ${result.exit}`);
    return {
      ...result,
      passed: report.numPassedTests,
      failed: Math.max(report.numFailedTests, failures.length),
      skipped: report.numPendingTests + report.numTodoTests,
      failures,
      fileSeconds: measureFiles(report),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
