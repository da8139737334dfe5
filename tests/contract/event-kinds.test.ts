import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as declared from '../../src/schema/event-kinds.ts';

const SCHEMA = join(import.meta.dirname, '../../src/schema');
const { CHANGE_KINDS, ...exported } = declared;

describe('every kind of events', () => {
  it('is delivered', () => {
    const delivered: readonly unknown[] = CHANGE_KINDS;
    const lost = Object.entries(exported).filter(([, kind]) => !delivered.includes(kind));
    expect(
      lost.map(([name]) => name),
      'A stream fails at an event of a kind that CHANGE_KINDS of src/schema/event-kinds.ts does not list. Add the kind to the list',
    ).toEqual([]);
  });

  it('is appended', () => {
    const statements = globSync('**/*.ts', { cwd: SCHEMA })
      .map((path) => readFileSync(join(SCHEMA, path), 'utf8'))
      .join('\n');
    const unused = Object.keys(exported).filter((name) => !statements.includes(`${name}.append`));
    expect(
      unused,
      'Clients may ask for these kinds, but no statement appends such an event. Call `append` of the kind in the statement that makes the change (docs/contributing/recipes/event-kind.md)',
    ).toEqual([]);
  });
});
