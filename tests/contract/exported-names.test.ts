import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');

/** Names that several files export on purpose, each with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {};

/** A declaration, or several constants that are taken from an object. Re-exports declare nothing. */
const EXPORT =
  /^export (?:async )?(?:function\*?|const|let|(?:abstract )?class|interface|type|enum) (?:\{([^}]*)\}|(\w+))/gm;

/** The name that a property gets, as `b` in `{ a: b = 1 }`. */
const boundName = (property: string): string => property.replace(/=.*/s, '').split(':').at(-1)?.trim() ?? '';

function findExports(text: string): string[] {
  return [...text.matchAll(EXPORT)].flatMap(([, properties, name]) =>
    name === undefined
      ? (properties ?? '')
          .split(',')
          .map(boundName)
          .filter((bound) => bound !== '')
      : [name],
  );
}

/** The files that export each name. A type and a constant of one file may share a name. */
function findExporters(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const path of globSync('**/*.ts', { cwd: SRC }).sort()) {
    if (path.startsWith('generated/')) continue;
    for (const name of new Set(findExports(readFileSync(join(SRC, path), 'utf8'))))
      found.set(name, [...(found.get(name) ?? []), `src/${path}`]);
  }
  return found;
}

const exporters = findExporters();
const duplicates = [...exporters].filter(([, files]) => files.length > 1);

describe('a name that src exports', () => {
  it('is found, however it is declared', () => {
    const text = [
      'export function a() {}',
      'export async function* b() {}',
      'export abstract class C {}',
      'export type D = 1;',
      'export interface E {}',
      'export const { f, g: h = 1 } = i;',
      "export { j } from './j.ts';",
      'const k = 1;',
    ];
    expect(findExports(text.join('\n'))).toEqual(['a', 'b', 'C', 'D', 'E', 'f', 'h']);
    expect(exporters.size).toBeGreaterThan(500);
  });

  it('is the name of one thing', () => {
    const problems = duplicates
      .filter(([name]) => !(name in EXCEPTIONS))
      .map(([name, files]) => `${name}: ${files.join(' and ')}`);
    expect(
      problems,
      'These files export the same name. Rename the exports after what they are (PooledConnection, EmbeddedConnection), share one of them, or add the name to EXCEPTIONS of this test with a reason.',
    ).toEqual([]);
  });

  it('is an exception only while several files export it', () => {
    const names = new Set(duplicates.map(([name]) => name));
    expect(
      Object.keys(EXCEPTIONS).filter((name) => !names.has(name)),
      'At most one file exports these names. Remove them from EXCEPTIONS of this test.',
    ).toEqual([]);
  });
});
