import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findGuides, pasteBlock, readSteps } from '../support/docs/guide.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => {
  const path = join(ROOT, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
};

describe('the guides', () => {
  it('have a place for each block in the code of today, one guide after the other', () => {
    const pasted = new Map<string, string>();
    for (const guide of findGuides())
      for (const step of readSteps(guide))
        if ('place' in step) {
          const { file } = step.place;
          // Whoever follows a guide runs this test in a project that has some of its blocks.
          if (read(file)?.includes(step.text) === true) continue;
          pasted.set(file, pasteBlock(step, pasted.get(file) ?? read(file)));
        }
  });

  it.each(findGuides())('%s touches as many files as CONTRIBUTING.md says', (guide) => {
    const files = new Set(readSteps(guide).flatMap((step) => ('place' in step ? [step.place.file] : [])));
    const written = [...files].filter((file) => !file.startsWith('tests/'));
    const row = read('CONTRIBUTING.md')
      ?.split('\n')
      .find((line) => line.startsWith('| ') && line.includes(`](${guide})`));
    expect(
      row?.split(' | ')[1],
      `the table "Recipes" of CONTRIBUTING.md must have a row for ${guide}, with the number of files that it writes: ${written.join(', ')}`,
    ).toBe(`${written.length}`);
  });

  it('give an error that names the guide, the file and the words, if the code has changed', () => {
    const place = { kind: 'after', file: 'src/a.ts', anchor: 'one' } as const;
    const block = { guide: 'docs/a.md', place, text: 'new\n' };
    expect(pasteBlock(block, 'one\ntwo\n')).toBe('one\nnew\ntwo\n');
    for (const changed of ['two\n', 'one\none\n', undefined])
      expect(() => pasteBlock(block, changed)).toThrow(/docs\/a\.md .*src\/a\.ts/);
    expect(() => pasteBlock(block, 'two\n')).toThrow('no line with `one`');
  });
});
