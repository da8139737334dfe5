import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/admin/program.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** A constant that defines commands or makes such a function. */
const DECLARED = /^export const (\w+)(?:: DefineCommands\b| = \([^\n]*\): DefineCommands\b)/gm;
const IMPORTS = /^import\b[^;]*;$/gm;

const program = createProgram(
  () => Promise.resolve(),
  () => Promise.resolve(),
);
/** The words of each command. */
const findWords = (command: Command): string[] =>
  command.commands.flatMap((inner) =>
    inner.commands.length === 0
      ? [inner.name()]
      : findWords(inner).map((words) => `${inner.name()} ${words}`),
  );

describe('every admin command', () => {
  it('is in the program', () => {
    const declared = globSync('src/{admin,features}/**/*.ts', { cwd: ROOT }).flatMap((path) =>
      [...read(path).matchAll(DECLARED)].map(([, name = '']) => ({ name, path })),
    );
    expect(declared.length).toBeGreaterThan(15);
    const lists = globSync(['src/admin/program.ts', 'src/features/*/feature.ts'], { cwd: ROOT })
      .map((path) => read(path).replaceAll(IMPORTS, ''))
      .join('\n');
    const unknown = declared.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(lists));
    expect(
      unknown.map(({ name, path }) => `${path}: ${name}`),
      'Operators cannot call these commands. Add each to COMMANDS in src/admin/program.ts, or to `commands` in the feature.ts of its feature (docs/contributing/recipes/command.md)',
    ).toEqual([]);
  });

  it('is on a page for operators', () => {
    const pages = ['administration', 'blocks'].map((page) => read(`docs/operate/${page}.md`)).join('');
    const words = findWords(program);
    expect(words.length).toBeGreaterThan(30);
    expect(
      words.filter((name) => !new RegExp(`\`${name}[\` ]`).test(pages)),
      'Describe each of these commands in a row of docs/operate/administration.md: | `noun verb ARGUMENT` | what it does |',
    ).toEqual([]);
  });
});
