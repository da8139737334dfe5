import fc from 'fast-check';
import { parse, visit } from 'graphql';
import { describe, expect, it } from 'vitest';
import { shapeOf } from '../../../src/engine/documents/analysis.ts';
import { buildSchema } from '../../../src/schema/schema.ts';
import { unknownData } from '../../fuzz/generate/known.ts';
import { randomCase } from '../../fuzz/generate/random-case.ts';

const schema = buildSchema();
const MARK = 'zzmark';
const data = unknownData(MARK);

describe('the shape of a document', () => {
  it('has the same fields, and nothing that the client chose', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const query = randomCase(seed, schema, data).document;
        fc.pre(isDocument(query));
        const shape = shapeOf(parse(query));
        expect(shape).not.toContain(MARK);
        expect(fieldsOf(shape)).toEqual(fieldsOf(query));
        expect(shapeOf(parse(shape))).toBe(shape);
      }),
    );
  });

  it('is the same for documents that differ in what clients choose only', () => {
    const one = 'query A($a: Int = 1) { x: posts(limit: $a) { ...P } } fragment P on Post { id }';
    const other =
      '# c\nquery B($bb: Int = 22) {\n posts(limit: $bb) { ...Q } }\nfragment Q on Post { y: id }';
    expect(shapeOf(parse(other))).toBe(shapeOf(parse(one)));
  });
});

/** The generator also damages documents. */
function isDocument(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

function fieldsOf(text: string): string[] {
  const names: string[] = [];
  visit(parse(text), { Field: ({ name }) => void names.push(name.value) });
  return names;
}
