import fc from 'fast-check';
import {
  buildSchema as buildFromText,
  type DocumentNode,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { fragmentsOf } from '../../../src/engine/documents/analysis.ts';
import { createFastValidator } from '../../../src/engine/documents/fast-validator/fast-validator.ts';
import { buildSchema } from '../../../src/schema/schema.ts';
import { unknownData } from '../../fuzz/generate/known.ts';
import { randomCase } from '../../fuzz/generate/random-case.ts';
import { PAGES, STRANGE } from '../../support/schema/client-texts.ts';

/** How many random documents are tried. */
const RUNS = Number(process.env.FAST_VALIDATOR_RUNS ?? 1_000);

const schema = buildSchema();

function fastValidatorOf(of: GraphQLSchema) {
  const validator = createFastValidator(of);
  return (document: DocumentNode) => validator(document, fragmentsOf(document));
}

const accepts = fastValidatorOf(schema);
const RULES = [...specifiedRules, NoSchemaIntrospectionCustomRule];

/** What the full validation says of a document. */
function errorsOf(document: DocumentNode, of: GraphQLSchema = schema): readonly string[] {
  return validate(of, document, RULES).map(({ message }) => message);
}

const data = unknownData('x');

const drawn = fc.nat().map((seed) => randomCase(seed, schema, data).document);

/** Undefined where the generator has left nothing that parses. */
function parsed(text: string): DocumentNode | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

describe('Accepting a document without the full validation', () => {
  it('leads to nothing that the full validation rejects, and becomes of most that it accepts', () => {
    const counts = { valid: 0, accepted: 0 };
    fc.assert(
      fc.property(drawn, (text) => {
        const document = parsed(text);
        if (document === undefined) return;
        const errors = errorsOf(document);
        // graphql-js gives up on many fields with one response name, which the service rejects before.
        if (errors.includes('Validation aborted.')) return;
        if (errors.length === 0) counts.valid += 1;
        if (!accepts(document)) return;
        counts.accepted += 1;
        expect(errors, text).toEqual([]);
      }),
      { numRuns: RUNS },
    );
    expect(counts.accepted / counts.valid).toBeGreaterThan(0.85);
  });

  it.each(PAGES)('is what becomes of what a client writes: %s', (text) => {
    expect(errorsOf(parse(text))).toEqual([]);
    expect(accepts(parse(text))).toBe(true);
  });

  it.each(STRANGE)('is not what becomes of %s', (text) => {
    expect(accepts(parse(text))).toBe(false);
  });

  it('ends early however fragments multiply', () => {
    const fragments = Array.from(
      { length: 30 },
      (_, n) => `fragment F${n} on Post { author { a: posts { ...F${n + 1} } b: posts { ...F${n + 1} } } }`,
    );
    const text = `{ posts { ...F0 } } ${fragments.join(' ')} fragment F30 on Post { id }`;
    // Fully expanded it would be two to the power of thirty.
    expect(accepts(parse(text))).toBe(false);
  });

  it('does not happen in schemas with unions', () => {
    const own = buildFromText('type Query { name: String any: Any } union Any = Query');
    expect(fastValidatorOf(own)(parse('{ name }'))).toBe(false);
  });

  it('knows enums, defaults, lists of lists and input objects as far as it needs to', () => {
    const own =
      buildFromText(`enum Colour { RED GREEN } input In { a: Int! b: Int! = 2 c: In } input One @oneOf { a: Int b: Int }
      type Query { f(c: Colour, n: Int! = 1, l: [[Int!]], i: In, o: One, x: Float): Int }`);
    const takes = fastValidatorOf(own);
    const accepted = [
      'c: RED',
      'l: [[1], null]',
      'l: 1',
      'l: [1, [2]]',
      'x: 1',
      'x: 1.5',
      'i: {a: 1}',
      'i: {a: 1, b: 3, c: {a: 2}}',
      '',
    ];
    const rejected = [
      'c: BLUE',
      'c: "RED"',
      'n: null',
      'l: [[null]]',
      'l: [["a"]]',
      'x: "1"',
      'i: 1',
      'i: {}',
      'i: {a: null}',
      'i: {a: 1, a: 2}',
      'i: {a: 1, d: 2}',
      'i: {a: 1, __proto__: {a: 1}}',
      'i: {a: 1, c: {b: 1}}',
      'o: {a: 1}',
    ];
    const asked = (argument: string) => parse(`{ f${argument === '' ? '' : `(${argument})`} }`);
    for (const argument of accepted) {
      expect(errorsOf(asked(argument), own), argument).toEqual([]);
      expect(takes(asked(argument)), argument).toBe(true);
    }
    for (const argument of rejected) expect(takes(asked(argument)), argument).toBe(false);
    // A place with a default takes a variable that may be absent (GraphQL section 5.8.5).
    expect(takes(parse('query ($n: Int) { f(n: $n) }'))).toBe(true);
    expect(takes(parse('query ($n: Int) { f(i: {a: 1, b: $n}) }'))).toBe(true);
    expect(takes(parse('query ($n: Int) { f(i: {a: $n}) }'))).toBe(false);
    expect(takes(parse('query ($n: Int) { f(l: [[$n]]) }'))).toBe(false);
    expect(takes(parse('query ($n: [Int!]) { f(l: [$n]) }'))).toBe(true);
  });
});
