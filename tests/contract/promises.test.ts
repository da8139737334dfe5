import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findFiles, findGateFiles } from '../stages.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const foldSpace = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

const pages = globSync('docs/{reference,operate}/*.md', { cwd: ROOT })
  .sort()
  .map((file) => ({ file, text: read(file) }));

/** Quotes of these pages, each with the files that test it, the most direct one first. */
const promises: Readonly<Record<string, readonly string[]>> = JSON.parse(
  read('tests/contract/promises.json'),
);

/** The text below the headings "Rules" of a page, without code and without the first rows of tables. */
function readRules(text: string): string {
  const lines: string[] = [];
  let level = 0;
  for (const line of text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').split('\n')) {
    const [, marks = '', heading] = /^(#+) (.*)$/.exec(line) ?? [];
    if (heading !== undefined && marks.length <= level) level = 0;
    if (heading === 'Rules') level = marks.length;
    lines.push(level > 0 && heading === undefined ? line : '');
  }
  return lines.join('\n').replaceAll(/^ *\|.*\n *\|[ |-]+\|$/gm, '');
}

/** The paragraphs, list items and table rows of the rules. */
const listRules = (text: string): string[] =>
  readRules(text)
    .split(/\n{2,}|\n(?= *[-|] )/)
    .map(foldSpace)
    .filter((rule) => rule !== '');

describe('the promises of docs/reference and docs/operate', () => {
  it('are quoted as the pages have them', () => {
    const texts = pages.map(({ text }) => foldSpace(text));
    expect(
      Object.keys(promises).filter((quote) => !texts.some((text) => text.includes(quote))),
      'No page has these words any more. Quote the new words in tests/contract/promises.json, or remove the promise there',
    ).toEqual([]);
  });

  it('are listed for every paragraph, list item and table row below a heading "Rules"', () => {
    const quotes = Object.keys(promises);
    const rules = pages.flatMap(({ file, text }) => listRules(text).map((rule) => ({ file, rule })));
    expect(rules.length).toBeGreaterThan(300);
    expect(
      rules.filter(({ rule }) => !quotes.some((quote) => rule.includes(quote))),
      'Quote a part of each in tests/contract/promises.json, with the path of a test below tests/, such as "api/transport/routes"',
    ).toEqual([]);
  });

  it('have test files that exist', () => {
    const files = new Set(findFiles({ files: ['tests/**'] }));
    const named = new Set(Object.values(promises).flat());
    expect(
      [...named].filter((name) => !files.has(`tests/${name}.test.ts`)),
      'tests/contract/promises.json names these tests, which do not exist. A name is a path below tests/ without ".test.ts"',
    ).toEqual([]);
  });

  it('have a test in the gate', () => {
    const covered = findGateFiles();
    const uncovered = Object.entries(promises)
      .filter(([, names]) => !names.some((name) => covered.has(`tests/${name}.test.ts`)))
      .map(([quote, names]) => `${quote} (${names.join(', ')})`);
    expect(
      uncovered,
      'The gate runs no test of these promises. Add one to tests/contract/promises.json that a stage of GATE_STAGES in tests/stages.ts runs',
    ).toEqual([]);
  });
});

describe('the names of docs/reference/guarantees.md', () => {
  const names = [...read('docs/reference/guarantees.md').matchAll(/^\| ([\w ]+) \| .* \| \[/gm)].map(
    ([, name]) => name,
  );

  it('are those by which comments cite promises', () => {
    const sources = globSync('{src,tests,scripts,bench}/**/*.{ts,tsx}', {
      cwd: ROOT,
      exclude: ['src/generated/**', 'tests/contract/promises.test.ts'],
    });
    const cited = sources.flatMap((file) =>
      [...read(file).matchAll(/\(contract:([^)]+)\)/g)].map(([, name = '']) => ({
        file,
        name: foldSpace(name.replaceAll(/\n *(?:\*|\/\/)/g, ' ')),
      })),
    );
    expect(cited.length).toBeGreaterThan(50);
    expect(
      cited.filter(({ name }) => !names.includes(name)),
      'Cite a name of the table in docs/reference/guarantees.md, or add a row there',
    ).toEqual([]);
  });
});
