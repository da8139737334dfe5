import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');
const read = (path: string) => readFileSync(join(SRC, path), 'utf8');

/** A constant or a function whose declaration makes a job, or says so with its type. */
const DECLARED = /^export (?:const|function) (\w+)[^\n]*(?:\bdeletion\(|: Job\b(?!\[))/gm;
const IMPORTS = /^import\b[^;]*;$/gm;

it('every job runs: createJobs or a feature lists each', () => {
  const jobs = globSync('**/*.ts', { cwd: SRC, exclude: ['generated/**', 'database/jobs.ts'] }).flatMap(
    (path) => [...read(path).matchAll(DECLARED)].map(([, name = '']) => ({ name, path })),
  );
  expect(jobs.length).toBeGreaterThan(10);
  const lists = globSync(['app/*.ts', 'features/*/feature.ts'], { cwd: SRC })
    .map((path) => read(path).replaceAll(IMPORTS, ''))
    .join('\n');
  const idle = jobs.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(lists));
  expect(
    idle.map(({ name, path }) => `src/${path}: ${name}`),
    'No instance runs these jobs. Add each to createJobs in src/app/create-app.ts, or to `jobs` in the feature.ts of its feature (docs/contributing/recipes/job.md)',
  ).toEqual([]);
});
