import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findFiles, findGateFiles } from '../stages.ts';

const ROOT = join(import.meta.dirname, '../..');
const contract = readFileSync(join(ROOT, 'docs/reference/guarantees.md'), 'utf8');

/** Quotes of the contract, each with the files that test it, the most direct one first. */
const promises: Readonly<Record<string, readonly string[]>> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'promises.json'), 'utf8'),
);

const foldSpace = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

/** The paragraphs, list items and table rows below the numbered headings. */
function listBlocks(): string[] {
  const body = contract.slice(contract.indexOf('\n## 1.'));
  const lines = body.split('\n').filter((line) => !/^#|^ *\|[ -|]*$/.test(line));
  const blocks = lines.join('\n').split(/\n{2,}|\n(?= *[-|] )/);
  return blocks
    .map(foldSpace)
    .filter((block) => block !== '' && !/^\| (?:text|code|command|member|limit|name) \|/.test(block));
}

describe('the promises of docs/reference/guarantees.md', () => {
  it('are quoted as the page has them', () => {
    const page = foldSpace(contract);
    expect(
      Object.keys(promises).filter((quote) => !page.includes(quote)),
      'docs/reference/guarantees.md no longer has these words. Quote its new words in tests/contract/promises.json, or remove the promise there',
    ).toEqual([]);
  });

  it('are listed for every paragraph, list item and table row', () => {
    const quotes = Object.keys(promises);
    expect(
      listBlocks().filter((block) => !quotes.some((quote) => block.includes(quote))),
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
