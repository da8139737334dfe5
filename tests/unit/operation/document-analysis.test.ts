import fc from 'fast-check';
import { buildSchema, NoFragmentCyclesRule, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { analyzeDocument } from '../../../src/engine/documents/analysis.ts';

const schema = buildSchema('type Query { a: Query, b(x: Int): Query, c: Int }');
const FRAGMENTS = ['F0', 'F1', 'F2', 'on_'] as const;

const selections: fc.Arbitrary<string> = fc.letrec<{ set: string; one: string }>((tie) => ({
  set: fc
    .array(tie('one'), { minLength: 1, maxLength: 3 })
    .map((items) => `{ # ...F0 {\n ${items.join(' ')} }`),
  one: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('c', 'x: c', 'b(x: 1)'),
    fc.tuple(fc.constantFrom('a', 'b', 'a: b(x: 2)', 'c: a'), tie('set')).map((parts) => parts.join(' ')),
    fc.constantFrom(...FRAGMENTS).map((name) => `... ${name}`),
    fc
      .tuple(fc.constantFrom('...', '... on Query', '...on Query'), tie('set'))
      .map((parts) => parts.join(' ')),
    fc
      .tuple(fc.constantFrom('__schema', 's: __schema', '__type(name: "{")'), tie('set'))
      .map((parts) => parts.join(' ')),
  ),
})).set;
const documents = fc
  .tuple(
    fc.constantFrom('', 'query ', 'query fragment ', 'query Q($v: Int = 1) '),
    selections,
    fc.array(selections, { maxLength: FRAGMENTS.length }),
  )
  .map(([head, operation, fragments]) =>
    [
      `${head}${operation}`,
      ...fragments.map((set, index) => `fragment ${FRAGMENTS[index]} on Query ${set}`),
    ].join(' '),
  );

const analysis = (text: string) => analyzeDocument(schema, parse(text), 2_000);

describe('analyzeDocument', () => {
  it('finds a cycle exactly where validation does', () => {
    fc.assert(
      fc.property(documents, (text) => {
        const errors = validate(schema, parse(text), [NoFragmentCyclesRule]);
        const { cycle } = analysis(text);
        expect(cycle !== undefined).toBe(errors.length > 0);
        if (cycle !== undefined)
          expect(text.slice(cycle.loc?.start)).toMatch(new RegExp(`^\\.\\.\\. ?${cycle.name.value}`));
      }),
      { numRuns: 500 },
    );
  });

  it('follows what spreads itself many times over no more than once', () => {
    const doubling = Array.from(
      { length: 60 },
      (_, i) => `fragment F${i + 1} on Query { a { ...F${i} } b { ...F${i} } }`,
    );
    const text = `{ ...F60 } fragment F0 on Query { c } ${doubling.join(' ')}`;
    expect(analysis(text).cycle).toBeUndefined();
    expect(analysis(text).mergeCost().fields).toBe(2_001);
  });

  it.each([
    ['{ a a a b }', 3],
    ['{ a { b } a { b } }', 2],
    ['{ x: a x: b a }', 1],
    ['{ a ... { a } ... on T @d(a: {a: 1}) { a } ...F ...G ...G ...H }', 3 + 3],
    ['query a($a: [Int!] = [1] @a) @a { a(a: a, b: "a") @a @a } fragment a on a { a }', 0],
    ['{ on ... on on { on } }', 1],
    ['{ a ...F } fragment F on Query { a }', 1],
  ])('counts the pairs in %s', (text, pairs) => {
    expect(analysis(text).mergeCost().pairs).toBe(pairs);
  });

  it('knows the variables that decide what is left out, and those that affect the cost', () => {
    const { conditions, costVariables } = analysis(
      'query ($a: Boolean!, $b: Boolean!, $n: Int, $x: Int) { c @skip(if: $a) b(x: $x) a(limit: $n) { ...F @include(if: $b) } } fragment F on Query { c }',
    );
    expect(conditions).toEqual(['a', 'b']);
    expect(costVariables).toEqual(['a', 'b', 'n']);
  });
});
