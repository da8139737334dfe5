import { buildSchema, GraphQLID, type OperationDefinitionNode, parse } from 'graphql';
import { describe, expect, it, vi } from 'vitest';
import { variableErrors } from '../../../src/engine/documents/variables.ts';

const schema = buildSchema('type Query { nodes(ids: [ID!]!): Int, tags(names: [[String]!]): Int }');

function errorsOf(query: string, variables: Record<string, unknown>): string[] {
  const [operation] = parse(query).definitions;
  return variableErrors(schema, operation as OperationDefinitionNode, variables).map(
    ({ message }) => message,
  );
}

describe('The check of variables', () => {
  it('does not coerce the items of a list of plain values, because a list may have thousands', () => {
    const coerce = vi.spyOn(GraphQLID, 'coerceInputValue');
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) }';
    expect(errorsOf(query, { ids: ['a', 'b', 'c'] })).toEqual([]);
    expect(coerce).not.toHaveBeenCalled();
    expect(errorsOf(query, { ids: ['a', 'b', 3] })).toEqual([]);
    expect(coerce).toHaveBeenCalledTimes(3);
  });

  it('accepts what list coercion accepts, and names the items that it does not', () => {
    const ids = 'query ($ids: [ID!]!) { nodes(ids: $ids) }';
    expect(errorsOf(ids, { ids: 'a' })).toEqual([]);
    expect(errorsOf(ids, { ids: [1, 'b'] })).toEqual([]);
    expect(errorsOf(ids, { ids: ['a', null] })).toHaveLength(1);
    expect(errorsOf(ids, { ids: ['a', {}] })[0]).toContain('"$ids" has invalid value at [1]');
    const names = 'query ($names: [[String]!]) { tags(names: $names) }';
    expect(errorsOf(names, { names: [['a', null], []] })).toEqual([]);
    expect(errorsOf(names, { names: [['a'], null] })).toHaveLength(1);
    expect(errorsOf(names, { names: null })).toEqual([]);
  });
});
