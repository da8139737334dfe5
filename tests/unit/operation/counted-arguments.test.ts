import {
  GraphQLID,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  parse,
  validate,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { costsPerItemOf, MAX_ITEMS } from '../../../src/engine/core/field-options.ts';
import { analyzeDocument } from '../../../src/engine/documents/analysis.ts';
import { createOperationLimiter } from '../../../src/engine/documents/limits.ts';
import { PreparedDocument } from '../../../src/engine/documents/prepared-operation.ts';

const Thing = new GraphQLObjectType({ name: 'Thing', fields: { secret: { type: GraphQLInt } } });

const things = new GraphQLNonNull(new GraphQLList(Thing));
const ids = new GraphQLList(new GraphQLNonNull(GraphQLID));

function counting(argument: string) {
  const { extensions, complexity } = costsPerItemOf(argument);
  return { ...extensions, complexity };
}

const schema = new GraphQLSchema({
  query: new GraphQLObjectType({
    name: 'Query',
    fields: {
      required: {
        type: things,
        args: { keys: { type: new GraphQLNonNull(ids) } },
        extensions: counting('keys'),
      },
      optional: { type: things, args: { ids: { type: ids } }, extensions: counting('ids') },
      uncounted: {
        type: Thing,
        args: { ids: { type: new GraphQLNonNull(new GraphQLList(GraphQLInt)) }, keys: { type: GraphQLID } },
      },
    },
  }),
});

const limits = {
  maxDepth: 10,
  maxComplexity: 5_000,
  maxAliases: 30,
  maxTokens: 1_000,
  maxRootFields: 50,
  maxDirectives: 50,
  maxFieldPairs: 1_000,
};

describe('A field whose selection is read once per item of an argument', () => {
  const limiter = createOperationLimiter(schema, limits);

  function prepare(text: string) {
    const node = parse(text);
    return new PreparedDocument(node, text, analyzeDocument(schema, node, 2_000)).operation(undefined);
  }

  /** The cost of a valid operation, and whether the checks of access see the field below. */
  function judge(text: string, variables: Record<string, unknown> = {}) {
    expect(validate(schema, parse(text))).toEqual([]);
    const operation = prepare(text);
    const found = limiter.requestedFields({ operation, variables }).filter(({ name }) => name === 'secret');
    return { complexity: limiter.costOf(operation, variables).complexity, seen: found.length === 1 };
  }

  it.each([
    ['{ required(keys: ["a", "b", "c"]) { secret } }', {}, 4],
    ['{ required(keys: "a") { secret } }', {}, 2],
    ['query ($k: [ID!]!) { required(keys: $k) { secret } }', { k: ['a', 'b'] }, 3],
    ['{ optional(ids: ["a", "b"]) { secret } }', {}, 3],
    ['query ($k: [ID!]) { optional(ids: $k) { secret } }', { k: 'a' }, 2],
    ['{ optional { secret } }', {}, 1 + MAX_ITEMS],
    ['{ optional(ids: null) { secret } }', {}, 1 + MAX_ITEMS],
    ['query ($k: [ID!]) { optional(ids: $k) { secret } }', { k: null }, 1 + MAX_ITEMS],
    ['query ($k: [ID!]) { optional(ids: $k) { secret } }', {}, 1 + MAX_ITEMS],
    [
      'query ($k: [ID!]!) { required(keys: $k) { secret } }',
      { k: new Array(5_000).fill('a') },
      1 + MAX_ITEMS,
    ],
    // Arguments of the same names that count nothing.
    ['{ uncounted(ids: [1, 2, 3], keys: "a") { secret } }', {}, 2],
    ['query ($k: [Int]!) { uncounted(ids: $k) { secret } }', { k: [1, 2, 3] }, 2],
  ])('costs what its items do and is seen by every check: %s', (text, variables, complexity) => {
    expect(judge(text, variables)).toEqual({ complexity, seen: true });
  });

  it('has a cost for each number of items that a variable has', () => {
    const text = 'query ($k: [ID!]) { optional(ids: $k) { secret } }';
    const operation = prepare(text);
    const costs = [['a'], 'a', ['a', 'b'], null, ['a']].map(
      (k) => limiter.costOf(operation, { k }).complexity,
    );
    expect(costs).toEqual([2, 2, 3, 1 + MAX_ITEMS, 2]);
  });
});
