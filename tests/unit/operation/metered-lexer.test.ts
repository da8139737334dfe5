import fc from 'fast-check';
import { buildSchema, type DocumentNode, GraphQLError, Kind, parse, print, visit } from 'graphql';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/graphql/errors.ts';
import { MeteredLexer } from '../../../src/operation/document/metered-lexer.ts';
import { surveyDocument } from '../../../src/operation/document/survey.ts';

const NONE = Number.POSITIVE_INFINITY;
const schema = buildSchema('type Query { a: Query, b(x: Int): Query, c: Int }');
const UNLIMITED = {
  maxDepth: 10,
  maxComplexity: NONE,
  maxAliases: NONE,
  maxTokens: NONE,
  maxRootFields: NONE,
  maxDirectives: NONE,
  maxFieldPairs: NONE,
};

function read(text: string, limits: Partial<typeof UNLIMITED> = {}): DocumentNode {
  const lexer = new MeteredLexer(text, { ...UNLIMITED, ...limits });
  lexer.readAll();
  return parse(lexer.source, { lexer });
}

/** What a text is refused with; undefined for a document. */
function refusal(text: string, limits: Partial<typeof UNLIMITED>) {
  try {
    read(text, limits);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.extensions;
    if (error instanceof GraphQLError) return 'no document';
    throw error;
  }
}

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

describe('MeteredLexer', () => {
  it('counts in a text what the parser finds in it', () => {
    fc.assert(
      fc.property(documents, (text) => {
        const { tokens = 0, aliases, directives } = counted(parse(text));
        const exact = { maxTokens: tokens, maxAliases: aliases, maxDirectives: directives };
        expect(print(read(text, exact))).toBe(print(parse(text)));
        expect(refusal(text, { maxTokens: tokens - 1 })).toEqual({
          code: 'GRAPHQL_PARSE_FAILED',
          value: tokens,
          maximum: tokens - 1,
        });
        const cases = [
          [aliases, { maxAliases: aliases - 1 }],
          [directives, { maxDirectives: directives - 1 }],
        ] as const;
        for (const [value, limit] of cases)
          if (value > 0)
            expect(refusal(text, limit)).toEqual({
              code: 'COMPLEXITY_LIMIT',
              value,
              maximum: value - 1,
            });
      }),
      { numRuns: 200 },
    );
  });

  it('tells the whole count, not how far it was read', () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `a${i}: b @c`).join(' ');
    expect(refusal(`{ ${many(9)} }`, { maxAliases: 2 })).toMatchObject({ value: 9, maximum: 2 });
    expect(refusal(`{ ${many(9)} }`, { maxDirectives: 2 })).toMatchObject({ value: 9, maximum: 2 });
    const deep = { code: 'DEPTH_LIMIT', value: 5_002, maximum: 60 };
    expect(refusal(`{ a(b: ${'['.repeat(5_000)}`, {})).toEqual(deep);
    expect(refusal(`{ a(b: ${'['.repeat(5_000)}${']'.repeat(5_000)}) }`, {})).toEqual(deep);
  });

  it('takes any text at all, and stops when there are too many tokens', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('"', '\\', '#', '\n', '.', '{', ')', '@', 'a', '1', '￿') }),
        (text) => {
          const refused = refusal(text, { maxTokens: 3 });
          expect(['no document', 'GRAPHQL_PARSE_FAILED', undefined]).toContain(
            typeof refused === 'object' ? refused.code : refused,
          );
        },
      ),
    );
  });

  it('knows the kinds of definitions that hold no colon but in parentheses', () => {
    expect(parse('{ a: b }').definitions[0]?.kind).toBe(Kind.OPERATION_DEFINITION);
    const text = 'query ($a: Int, $b: [Int]) { c(d: {e: $a}) x: y }';
    expect(refusal(text, { maxAliases: 1 })).toBeUndefined();
    expect(refusal(text, { maxAliases: 0 })).toMatchObject({ value: 1 });
  });
});

describe('a text that does not parse', () => {
  const errorOf = (run: () => unknown): unknown => {
    try {
      run();
    } catch (error) {
      return error instanceof GraphQLError ? error.toJSON() : error;
    }
    return undefined;
  };

  it.each([
    '{ a } } b c',
    '{ a(b: """\n\n',
    '"about" """\n\n',
    '{ a(: 1) } ?',
    '{ a # ?\n ? } {',
    '{ a(b: 01) }',
    '?',
    '',
  ])('has the error that it has without limits: %j', (text) => {
    const error = errorOf(() => read(text));
    expect(error).toEqual(errorOf(() => parse(text)));
    expect(error).toHaveProperty('message');
  });

  it('is refused for what it has too much of, whatever stands behind or is no token', () => {
    const aliases = 'a: b '.repeat(4);
    for (const text of [`{ } ${aliases}`, `{ ${aliases} ? c: d`, `{ ${aliases} """`])
      expect(refusal(text, { maxAliases: 2 })).toEqual({ code: 'COMPLEXITY_LIMIT', value: 4, maximum: 2 });
    expect(refusal(`{ ? ${aliases}`, { maxAliases: 2 })).toBe('no document');
  });

  it('is refused for a long name in what is only counted, also behind a comment', () => {
    for (const between of ['', '# a comment\n', '1 "a" ... """b"""'])
      expect(refusal(`{ a: b c: d ${between} ${'n'.repeat(101)} }`, { maxAliases: 1 })).toMatchObject({
        value: 101,
      });
  });

  it('is read once, also what is no token', () => {
    for (const text of ['{ a(b: """\n\n', '{ a } # b\n ?', '"about" """\n\n']) {
      const lexer = new MeteredLexer(text, UNLIMITED);
      lexer.readAll();
      Object.defineProperty(lexer.source, 'body', { get: () => expect.fail('the text is read again') });
      expect(() => parse(lexer.source, { lexer })).toThrow(GraphQLError);
    }
  });
});

describe('a document', () => {
  const document = (text: string) => surveyDocument(schema, parse(text), 2_000);
  const isTree = (text: string) => document(text).circle === undefined;
  const named = fc.constantFrom('a: a', 'a: b', 'a', 'b', 'c', 'x: c', '__typename');
  const trees: fc.Arbitrary<string> = fc.letrec<{ set: string; one: string }>((tie) => ({
    set: fc.array(tie('one'), { minLength: 1, maxLength: 4 }).map((items) => `{ # {\n ${items.join(' ')} }`),
    one: fc.oneof(
      { depthSize: 'medium' },
      fc.constantFrom('...F', '...G', 'c', 'x: c', '__schema { types { fields { name } } }'),
      fc
        .tuple(fc.constantFrom('a', 'b(x: 1)', 'x: a', '...', '... on Query'), tie('set'))
        .map((parts) => parts.join(' ')),
      named,
    ),
  })).set;
  const texts = fc
    .tuple(trees, trees, trees)
    .map(([set, f, g]) => `query Q ${set} fragment F on Query ${f} fragment G on Query ${g}`)
    .filter(isTree);

  it('has at most the pairs before it is parsed that it has after', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const { pairs } = document(text).merged();
        expect(refusal(text, { maxFieldPairs: pairs })).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['{ a a a b }', 3],
    ['{ a { b } a { b } }', 1],
    ['{ x: a x: b a }', 1],
    ['{ a ... { a } ... on T @d(a: {a: 1}) { a } ...F ...G ...G ...H }', 3 + 3],
    ['query a($a: [Int!] = [1] @a) @a { a(a: a, b: "a") @a @a a } fragment a on a { a }', 1],
    ['{ on ... on on { on } }', 1],
    ['{ a ...F } fragment F on Query { a a }', 1],
  ])('shows the pairs of one selection: %s', (text, value) => {
    const limit = { code: 'COMPLEXITY_LIMIT', value, maximum: value - 1 };
    expect(refusal(text, { maxFieldPairs: value - 1 })).toEqual(limit);
    expect(refusal(text, { maxFieldPairs: value })).not.toEqual(limit);
  });
});
