import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/processes/process.ts';
import { LEFT_OUT, OWN_TEST } from './support/left-out.ts';
import { FLAGS, pastedBlocks, shellBlocks } from './support/page.ts';

const clientPages = globSync('docs/clients/*.md', { cwd: ROOT });
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync('docs/**/*.md', { cwd: ROOT, exclude: ['docs/decisions/**', '**/node_modules/**'] }),
];
/** The page that each test runs. */
const tested = globSync('*.test.ts', { cwd: import.meta.dirname }).flatMap((file) => {
  const [, page] = /^itRuns\('(.+)'\)/m.exec(readFileSync(join(import.meta.dirname, file), 'utf8')) ?? [];
  return page === undefined ? [] : [page];
});

describe('the shell blocks of the documentation', () => {
  it('are pasted by a test for each page that has some', () => {
    const withBlocks = pages.filter((page) => !OWN_TEST.includes(page) && pastedBlocks(page).length > 0);
    expect(tested.sort()).toEqual(withBlocks.sort());
  });

  it.each(LEFT_OUT)('are left out if they begin with "$begins" in $page', ({ page, begins }) => {
    expect(shellBlocks(page).some(({ text }) => text.startsWith(begins))).toBe(true);
  });

  it.each(pages)('have no other flags than those that the tests know, in %s', (page) => {
    for (const { flags } of shellBlocks(page)) expect(FLAGS).toEqual(expect.arrayContaining([...flags]));
  });

  it('install no library that npm run test:clients does not', () => {
    const file = readFileSync(join(ROOT, 'examples/clients/package.json'), 'utf8');
    const { dependencies, devDependencies } = JSON.parse(file);
    const commands = clientPages
      .flatMap(shellBlocks)
      .flatMap(({ text }) => text.match(/^npm install .*$/gm) ?? []);
    const names = commands
      .flatMap((command) => command.split(' ').slice(2))
      .filter((word) => !/^(?:--save-dev|.*content-graph-client.*)$/.test(word))
      .map((word) => word.replace(/(?<=.)@\d+$/, ''));
    expect(names.length).toBeGreaterThan(10);
    expect(Object.keys({ ...dependencies, ...devDependencies })).toEqual(expect.arrayContaining(names));
  });
});
