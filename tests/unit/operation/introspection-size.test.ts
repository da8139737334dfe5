import {
  type ExecutionResult,
  execute,
  getIntrospectionQuery,
  Kind,
  type OperationDefinitionNode,
  parse,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { fragmentsOf } from '../../../src/engine/documents/analysis.ts';
import { introspectionSize } from '../../../src/engine/documents/introspection.ts';
import { buildSchema } from '../../../src/schema/schema.ts';

const schema = buildSchema();

describe('the size of a response is known without its text', () => {
  it.each([
    [
      'the introspection of tools',
      getIntrospectionQuery({ oneOf: true, specifiedByUrl: true, schemaDescription: true }),
      {},
    ],
    [
      'aliases',
      '{ a: __schema { b: queryType { c: fields { d: name } e: fields { __typename type { name } } } } }',
      {},
    ],
    [
      'variables',
      'query ($n: String!, $off: Boolean!) { __type(name: $n) { name @skip(if: $off) fields { name } } }',
      { n: 'Post', off: true },
    ],
    ['a type that is not there', '{ __type(name: "None") { name } }', {}],
  ])('%s', (_what, query, variableValues) => {
    const document = parse(query);
    const operation = document.definitions.find(
      (node): node is OperationDefinitionNode => node.kind === Kind.OPERATION_DEFINITION,
    );
    if (operation === undefined) throw new Error('no operation');
    const args = { schema, document, variableValues };
    const { data } = execute(args) as ExecutionResult;
    const text = Buffer.byteLength(JSON.stringify(data));
    expect(introspectionSize(args, operation, fragmentsOf(document))).toBe(text);
  });
});
