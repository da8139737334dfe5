import fc from 'fast-check';
import {
  buildSchema,
  type FragmentDefinitionNode,
  Kind,
  NoFragmentCyclesRule,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  validate,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { spreadOut } from '../../../src/operation/document/fragment-spreads.ts';
import { scanText } from '../../../src/operation/document/token-scan.ts';

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

/** The depth that contract section 5 means, of fragments that form no circle. */
function depthIn(text: string): number {
  const { definitions } = parse(text);
  const fragments = new Map(
    definitions
      .filter((node): node is FragmentDefinitionNode => node.kind === Kind.FRAGMENT_DEFINITION)
      .map((node) => [node.name.value, node]),
  );
  const depthOf = ({ selections: nodes }: SelectionSetNode): number =>
    Math.max(
      0,
      ...nodes.map((node) => {
        if (node.kind === Kind.INLINE_FRAGMENT) return depthOf(node.selectionSet);
        if (node.kind === Kind.FIELD) {
          const inner = node.name.value.startsWith('__') ? undefined : node.selectionSet;
          return 1 + (inner === undefined ? 0 : depthOf(inner));
        }
        const fragment = fragments.get(node.name.value);
        return fragment === undefined ? 0 : depthOf(fragment.selectionSet);
      }),
    );
  const operation = definitions.find(
    (node): node is OperationDefinitionNode => node.kind === Kind.OPERATION_DEFINITION,
  );
  return operation === undefined ? 0 : depthOf(operation.selectionSet);
}

const spread = (text: string) => spreadOut(scanText(text, Number.POSITIVE_INFINITY).outlines);

describe('spreadOut', () => {
  it('finds a circle exactly where validation does', () => {
    fc.assert(
      fc.property(documents, (text) => {
        const errors = validate(schema, parse(text), [NoFragmentCyclesRule]);
        const { circle } = spread(text);
        expect(circle !== undefined).toBe(errors.length > 0);
        if (circle !== undefined)
          expect(text.slice(circle.at)).toMatch(new RegExp(`^\\.\\.\\. ?${circle.name}`));
      }),
      { numRuns: 500 },
    );
  });

  it('finds the depth of an operation with its fragments', () => {
    fc.assert(
      fc.property(documents, (text) => {
        const { circle, depth } = spread(text);
        fc.pre(circle === undefined);
        expect(depth).toBe(depthIn(text));
      }),
      { numRuns: 500 },
    );
  });

  it('says nothing of the depth where there are several operations', () => {
    expect(spread('query A { a { c } } query B { c }').depth).toBe(0);
  });

  it('follows what spreads itself many times over no more than once', () => {
    const doubling = Array.from(
      { length: 60 },
      (_, i) => `fragment F${i + 1} on Query { a { ...F${i} } b { ...F${i} } }`,
    );
    expect(spread(`{ ...F60 } fragment F0 on Query { c } ${doubling.join(' ')}`)).toEqual({
      circle: undefined,
      depth: 61,
    });
  });
});
