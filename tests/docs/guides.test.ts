import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { findGuides, type Pasted, pasteBlock, readSteps } from '../support/docs/guide.ts';
import { copyProject } from './support/project.ts';
import { openShell } from './support/shell.ts';

/** A line of a guide that runs tests. All guides are pasted first. Then `npm test` and the files of all guides run once. */
const TEST_LINE = /^npm (?:test|run (?:-s )?test:\S+)(?: -- (.*))?$/;

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

const settings = {
  npm_config_update_notifier: 'false',
  ...(process.env.PROPERTY_SEED === undefined ? {} : { PROPERTY_SEED: process.env.PROPERTY_SEED }),
};

/** Runs a line in a terminal. Returns what it prints if it fails. */
async function runCheck(folder: string, line: string): Promise<string | undefined> {
  const shell = await openShell(folder, settings);
  try {
    await shell.run(line);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Only ends a run that hangs. On two busy cores, the tests take half an hour. */
const LIMIT_MS = 7_200_000;

it('All guides can be pasted into one copy of the project, which then passes its checks and tests', {
  timeout: LIMIT_MS,
}, async () => {
  const folder = await copyProject();
  const shell = await openShell(folder, settings);
  const tests = new Set<string>();
  const steps = findGuides()
    .flatMap(readSteps)
    .flatMap((step): (Pasted | string)[] => ('place' in step ? [step] : linesOf(step.command)));
  for (const [index, step] of steps.entries()) {
    if (typeof step !== 'string') {
      const path = join(folder, step.place.file);
      const pasted = pasteBlock(step, await readFile(path, 'utf8').catch(() => undefined));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, pasted);
      continue;
    }
    const files = TEST_LINE.exec(step)?.[1];
    // `npm test` has the contract tests.
    if (files?.startsWith('tests/') === true)
      for (const file of files.split(' ')) if (file !== 'tests/contract') tests.add(file);
    // What several guides print again, such as the schema, counts after the last of them.
    if (!TEST_LINE.test(step) && steps.lastIndexOf(step) === index) await shell.run(step);
  }
  const checks = [
    'npm run -s typecheck',
    'npm run -s lint',
    'npm test',
    `npm test -- --reporter=dot ${[...tests].join(' ')}`,
  ];
  const failures: string[] = [];
  for (const check of checks) {
    const failure = await runCheck(folder, check);
    if (failure !== undefined) failures.push(failure);
  }
  expect(failures.join('\n')).toBe('');
});
