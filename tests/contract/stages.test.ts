import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FULL_SUITES, findFiles, GATE_STAGES, type Step } from '../stages.ts';

const ROOT = join(import.meta.dirname, '../..');
const INSTALL_SECONDS = 75;
const GATE_SECONDS = 20 * 60;

const steps: readonly Step[] = [...GATE_STAGES, ...FULL_SUITES].flatMap((stage) => stage.steps);

describe('the stages of the tests', () => {
  it('name files that exist', () => {
    const patterns = steps.flatMap(({ files = [], except = [] }) => [...files, ...except]);
    expect(
      patterns.filter((pattern) => findFiles({ files: [pattern] }).length === 0),
      'No test file matches these patterns of tests/stages.ts: correct or remove them',
    ).toEqual([]);
  });

  it('run every test file in the full run', () => {
    const run = new Set(FULL_SUITES.flatMap((suite) => suite.steps.flatMap(findFiles)));
    expect(
      findFiles({ files: ['tests/**'] }).filter((file) => !run.has(file)),
      'The full run does not run these files: add them to a suite of FULL_SUITES in tests/stages.ts',
    ).toEqual([]);
  });

  it('have budgets that make a gate of 20 minutes, as docs/contributing/tests.md lists them', () => {
    const sum = GATE_STAGES.reduce((seconds, { budgetSeconds }) => seconds + budgetSeconds, INSTALL_SECONDS);
    expect(sum).toBeLessThanOrEqual(GATE_SECONDS);
    const page = readFileSync(join(ROOT, 'docs/contributing/tests.md'), 'utf8');
    const listed = [...page.matchAll(/^\| ([^|]+) \| (\d+) s \|/gm)].map(
      ([, name, seconds]) => `${name} ${seconds}`,
    );
    const defined = GATE_STAGES.map(({ name, budgetSeconds }) => `${name} ${budgetSeconds}`);
    expect(listed).toEqual([`\`npm ci\` and Debian's packages ${INSTALL_SECONDS}`, ...defined]);
  });
});
