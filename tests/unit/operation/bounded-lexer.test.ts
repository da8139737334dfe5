import fc from 'fast-check';
import { buildSchema, type DocumentNode, GraphQLError, parse, print, visit } from 'graphql';
import { describe, expect, it } from 'vitest';
import { createDocumentCache } from '../../../src/engine/documents/document-cache.ts';
import { ApiError } from '../../../src/platform/errors.ts';

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
  const documents = createDocumentCache({ schema, introspection: true, limits: { ...UNLIMITED, ...limits } });
  return documents.parse(text).node;
}

/** What a text is rejected with; undefined for a document. */
function rejection(text: string, limits: Partial<typeof UNLIMITED>) {
  try {
    read(text, limits);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.extensions;
    if (error instanceof GraphQLError && error.extensions.code === 'GRAPHQL_PARSE_FAILED')
      return 'no document';
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

describe('The limits of a document', () => {
  it('count what the parser finds in it', () => {
    fc.assert(
      fc.property(documents, (text) => {
        const { tokens = 0, aliases, directives } = counted(parse(text));
        const exact = { maxTokens: tokens, maxAliases: aliases, maxDirectives: directives };
        expect(print(read(text, exact))).toBe(print(parse(text)));
        expect(rejection(text, { maxTokens: tokens - 1 })).toEqual({
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
            expect(rejection(text, limit)).toEqual({
              code: 'COMPLEXITY_LIMIT',
              value,
              maximum: value - 1,
            });
      }),
      { numRuns: 200 },
    );
  });

  it('are exceeded by the value of the whole document', () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `a${i}: b @c`).join(' ');
    expect(rejection(`{ ${many(9)} }`, { maxAliases: 2 })).toMatchObject({ value: 9, maximum: 2 });
    expect(rejection(`{ ${many(9)} }`, { maxDirectives: 2 })).toMatchObject({ value: 9, maximum: 2 });
    const deep = { code: 'DEPTH_LIMIT', value: 5_002, maximum: 60 };
    expect(rejection(`{ a(b: ${'['.repeat(5_000)}`, {})).toEqual(deep);
    expect(rejection(`{ a(b: ${'['.repeat(5_000)}${']'.repeat(5_000)}) }`, {})).toEqual(deep);
  });

  it('stop the parser at any text with too many tokens', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('"', '\\', '#', '\n', '.', '{', ')', '@', 'a', '1', '￿') }),
        (text) => {
          const rejected = rejection(text, { maxTokens: 3 });
          expect(['no document', 'GRAPHQL_PARSE_FAILED', undefined]).toContain(
            typeof rejected === 'object' ? rejected.code : rejected,
          );
        },
      ),
    );
  });

  it.each([
    ['', '{ a '],
    ['{ ', '... { '],
    ['{ a(b: ', '['],
    ['{ a(b: ', '{c: '],
    ['query ($a: ', '['],
  ])('stop the parser before nested brackets overflow the stack: %s%s', (start, part) => {
    const text = start + part.repeat(50_000);
    const value = text.match(/[([{]/g)?.length;
    expect(rejection(text, {})).toEqual({ code: 'DEPTH_LIMIT', value, maximum: 60 });
  });
});

describe('A text that is no document', () => {
  const errorOf = (run: () => unknown): unknown => {
    try {
      run();
    } catch (error) {
      return error instanceof GraphQLError ? error.toJSON() : error;
    }
    return undefined;
  };

  it.each(['{ a } } b c', '{ a(b: """\n\n', '"about" """\n\n', '{ a(: 1) } ?', '{ a # ?\n ? } {', '?'])(
    'has the error of graphql-js, whatever else it has too much of: %j',
    (text) => {
      const error = errorOf(() => read(text));
      expect(error).toMatchObject({
        message: expect.any(String),
        extensions: { code: 'GRAPHQL_PARSE_FAILED' },
      });
      expect(error).toEqual({
        ...Object(errorOf(() => parse(text))),
        extensions: { code: 'GRAPHQL_PARSE_FAILED' },
      });
      expect(rejection(`{ a: b c: d } ${text}`, { maxAliases: 1 })).toBe('no document');
    },
  );
});
