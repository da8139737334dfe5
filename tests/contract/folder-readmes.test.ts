import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');
const FOLDERS = ['app', 'admin', 'features', 'http', 'schema', 'engine', 'auth', 'database', 'platform'];
const MAX_LINES = 60;
const IMPORT = /\bfrom\s+'(\.[^']+)'|\bimport\(\s*'(\.[^']+)'\s*\)|^import\s+'(\.[^']+)'/gm;

const folderOf = (path: string): string => (path === 'main.ts' ? 'app' : (path.split('/')[0] ?? ''));

/** The files of `src` that the importers among the other folders import, by folder. */
function findImported(importers: (folder: string) => boolean): Map<string, Set<string>> {
  const found = new Map(FOLDERS.map((folder) => [folder, new Set<string>()]));
  for (const path of globSync('**/*.ts', { cwd: SRC, exclude: ['generated/**'] })) {
    const text = readFileSync(join(SRC, path), 'utf8');
    for (const [, ...specifiers] of text.matchAll(IMPORT)) {
      const specifier = specifiers.find((given) => given !== undefined) ?? '';
      const target = relative(SRC, join(SRC, dirname(path), specifier));
      const folder = folderOf(target);
      if (folder !== folderOf(path) && importers(folderOf(path)))
        found.get(folder)?.add(relative(folder, target));
    }
  }
  return found;
}

// `app` creates the service from all folders. What only `app` imports needs no row.
const required = findImported((folder) => folder !== 'app');
const imported = findImported(() => true);

describe.each(FOLDERS)('src/%s/README.md', (folder) => {
  const text = readFileSync(join(SRC, folder, 'README.md'), 'utf8');

  it(`has at most ${MAX_LINES} lines, a diagram, and says how to add something`, () => {
    expect(
      text.trimEnd().split('\n').length,
      'Shorten the README: its table may have one row for several files',
    ).toBeLessThanOrEqual(MAX_LINES);
    expect(text).toMatch(/^```\n[^`]+^```$/m);
    expect(text).toMatch(/^## Adding /m);
  });

  it('lists the files that other folders import, and no others', () => {
    const section = /^## Public files\n([\s\S]*?)^## /m.exec(text)?.[1] ?? '';
    const listed = [...section.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path = '']) => path);
    const missing = [...(required.get(folder) ?? [])].filter((path) => !listed.includes(path));
    const remedy = `import a public file of src/${folder} instead, or add the file to the section "Public files" of its README`;
    expect(missing, remedy).toEqual([]);
    const unused = listed.filter((path) => imported.get(folder)?.has(path) !== true);
    expect(unused, `remove from the section "Public files" of src/${folder}/README.md`).toEqual([]);
  });
});
