import fc from 'fast-check';
import { type DocumentNode, Kind, parse, print, visit } from 'graphql';
import { describe, expect, it } from 'vitest';
import { readFigures } from '../../../src/operation/document/text-figures.ts';

const scan = (text: string) => readFigures(text, Number.POSITIVE_INFINITY);

function counted(document: DocumentNode) {
  let aliases = 0;
  let directives = 0;
  visit(document, {
    Field: ({ alias }) => {
      if (alias !== undefined) aliases += 1;
    },
    Directive: () => {
      directives += 1;
    },
  });
  return { tokens: document.tokenCount, aliases, directives };
}

const name = fc.constantFrom('a', 'posts', '_x', 'A1', 'on_', 'query', 'type');
/** Whether a text is one string to the parser. */
function isString(text: string): boolean {
  try {
    return parse(`{ a(b: ${text}) }`).tokenCount === '{ a ( b : s ) }'.split(' ').length;
  } catch {
    return false;
  }
}
/** What ends a block string, and what only looks so. */
const blockString = fc
  .array(fc.constantFrom('"', '""', '\\"""', '\\', 'a', ' b:@{', '\n'), { maxLength: 8 })
  .map((pieces) => `"""${pieces.join('')}"""`)
  .filter(isString);
const value: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.integer().map(String),
    fc.constantFrom('1.5', '-1.5e+10', '0.1E-7', 'true', 'null', 'RED', '$v', '""', '"""a "" \\""" b:@{"""'),
    fc.string({ maxLength: 8 }).map((text) => JSON.stringify(text)),
    blockString,
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
    fc
      .array(tie('value'), { maxLength: 3 })
      .map((items) => `{${items.map((item, i) => `m${i}: ${item}`).join(' ')}}`),
  ),
})).value;
const args = fc
  .array(value, { minLength: 1, maxLength: 3 })
  .map((values) => `(${values.map((item, i) => `a${i}: ${item}`).join(', ')})`);
const directives = fc
  .array(fc.tuple(name, fc.option(args, { nil: '' })), { maxLength: 2 })
  .map((list) => list.map(([word, given]) => ` @${word}${given}`).join(''));
const selections: fc.Arbitrary<string> = fc.letrec<{ set: string; one: string }>((tie) => ({
  set: fc.array(tie('one'), { minLength: 1, maxLength: 4 }).map((items) => `{ # {:@"\n ${items.join(' ')} }`),
  one: fc.oneof(
    { depthSize: 'small' },
    fc
      .tuple(fc.option(name, { nil: undefined }), name, fc.option(args, { nil: '' }), directives)
      .map(
        ([alias, field, given, marked]) =>
          `${alias === undefined ? '' : `${alias}: `}${field}${given}${marked}`,
      ),
    fc.tuple(name, tie('set')).map(([field, set]) => `${field} ${set}`),
    directives.map((marked) => `...F${marked}`),
    fc.tuple(directives, tie('set')).map(([marked, set]) => `... on Post${marked} ${set}`),
  ),
})).set;
const documents = fc
  .tuple(directives, selections, selections)
  .map(([marked, a, b]) => `query Q($v: [Int!]! = [1] @d, $w: ID)${marked} ${a} fragment F on Post ${b}`);

describe('readFigures', () => {
  it('counts in a text what the parser finds in it', () => {
    fc.assert(
      fc.property(documents, (text) => {
        const document = parse(text);
        expect(scan(text)).toMatchObject(counted(document));
        const { tokens, ...rest } = scan(print(document));
        expect(rest).toMatchObject({
          aliases: counted(document).aliases,
          directives: counted(document).directives,
        });
        expect(tokens).toBe(parse(print(document)).tokenCount);
      }),
      { numRuns: 200 },
    );
  });

  it('takes any text at all, and stops when there are too many tokens', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('"', '\\', '#', '\n', '.', '{', ')', '@', 'a', '1', '￿') }),
        (text) => {
          expect(scan(text).tokens).toBeGreaterThanOrEqual(0);
          expect(readFigures(text, 3).tokens).toBeLessThanOrEqual(4);
        },
      ),
    );
  });

  it('counts brackets inside one another', () => {
    expect(scan('{ a(b: [[1]]) { c } }').nesting).toBe(4);
    expect(scan(`{ a(b: ${'['.repeat(5_000)}`).nesting).toBe(5_002);
  });

  it('knows the kinds of definitions that hold no colon but in parentheses', () => {
    expect(parse('{ a: b }').definitions[0]?.kind).toBe(Kind.OPERATION_DEFINITION);
    expect(scan('query ($a: Int, $b: [Int]) { c(d: {e: $a}) x: y }').aliases).toBe(1);
  });
});
