import { beforeAll, describe, expect, it } from 'vitest';
import { buildSchema } from '../../../../src/schema/schema.ts';
import { useApp } from '../../../support/app.ts';
import { dataOf, expectRejected } from '../../../support/rejection.ts';

const app = useApp({ settings: { INTROSPECTION: 'true' } });
let key = '';
beforeAll(async () => {
  ({ key } = await app.account());
});

const post = async (body: string, headers: Record<string, string> = {}) => {
  const response = await app.fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body,
  });
  const result = (await response.json()) as { data?: unknown; errors?: { extensions: { code: string } }[] };
  return { status: response.status, codes: (result.errors ?? []).map(({ extensions }) => extensions.code) };
};

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const withVariables = (variables: string) => `{"query":"{ __typename }","variables":${variables}}`;
const REJECTED = { status: 400, codes: ['BAD_REQUEST'] };

describe('A JSON body', () => {
  it('is rejected for too many values or levels, with a key and without one, before anything else is done', async () => {
    const zeros = (count: number) => `{"z":[${Array.from({ length: count }, () => '0').join()}]}`;
    // The request, its query and variables, the list, and `z`.
    expect(await post(withVariables(zeros(19_996)))).toEqual({ status: 200, codes: [] });
    expect(await post(withVariables(zeros(19_997)))).toEqual(REJECTED);
    expect(await post(withVariables(`{"z":${nested(62)}}`))).toEqual({ status: 200, codes: [] });
    expect(await post(withVariables(`{"z":${nested(63)}}`))).toEqual(REJECTED);
    const keyed = { 'idempotency-key': 'nested' };
    const mutation = `{"query":"mutation { deleteComment(id: \\"x\\") }","variables":{"z":${nested(100_000)}}}`;
    expect(await post(mutation, keyed)).toEqual(REJECTED);
  });

  it('may hold long strings with as many commas and brackets as fit', async () => {
    const text = JSON.stringify(',[{'.repeat(50_000));
    expect(await post(withVariables(`{"z":${text}}`))).toEqual({ status: 200, codes: [] });
  });

  it('is bounded in the parameters of GET and at /login too', async () => {
    const variables = encodeURIComponent(`{"z":${nested(64)}}`);
    const asked = await app.fetch(`/graphql?query={__typename}&variables=${variables}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(asked.status).toBe(400);
    const login = await app.fetch('/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: nested(65),
    });
    expect(login.status).toBe(400);
  });
});

describe('Introspection', () => {
  it('of more than 128 KiB is rejected, also where a response may be larger', async () => {
    const types = Array.from(
      { length: 20 },
      (_, index) =>
        `a${index}: __schema { types { name description fields { name description args { name description } } } }`,
    );
    const rejected = await app.gql(`{ ${types.join(' ')} }`);
    expectRejected(rejected, { code: 'COMPLEXITY_LIMIT', status: 400 });
    expect(rejected.errors?.[0]?.extensions.maximum).toBe(131_072);
  });

  it('gives the same to the same text, whoever asks, and knows operations and variables apart', async () => {
    const query = 'query A { __type(name: "Post") { name } } query B { __type(name: "User") { name } }';
    const ask = (operationName: string, key?: string) => app.gql(query, { operationName, key });
    for (let round = 0; round < 2; round += 1) {
      expect(dataOf(await ask('A'))).toEqual({ __type: { name: 'Post' } });
      expect(dataOf(await ask('B', key))).toEqual({ __type: { name: 'User' } });
    }
    const named = 'query ($name: String!) { __type(name: $name) { name } }';
    for (const name of ['Post', 'User'])
      expect(dataOf(await app.gql(named, { variables: { name } }))).toEqual({ __type: { name } });
    const costly = await app.gql('{ __schema { queryType { name } } }', { headers: { 'x-show-cost': '1' } });
    expect(costly.extensions).toHaveProperty('cost');
    expect((await app.gql('{ __schema { queryType { name } } }')).extensions).toBeUndefined();
  });
});

describe('The same introspection', () => {
  const schema = buildSchema();
  let looks = 0;
  Object.defineProperty(schema, 'description', {
    get() {
      looks += 1;
      return 'counted';
    },
  });
  const counted = useApp({ settings: { INTROSPECTION: 'true' }, schema });
  const COST = { 'x-show-cost': '1' };
  const data = { __schema: { description: 'counted' } };

  it('is executed once, whatever comments and white space are in it, and whether its cost is asked for', async () => {
    const ask = async (query: string, headers: Record<string, string> = {}) => {
      const before = looks;
      const result = await counted.gql(query, { headers });
      expect(dataOf(result)).toEqual(data);
      return { looked: looks > before, extensions: result.extensions };
    };
    const first = await ask('{ __schema { description } }');
    expect(first).toEqual({ looked: true, extensions: undefined });
    for (const text of [
      '{ __schema { description } }',
      '{__schema{description}}',
      ',{ __schema # again\n{\n\tdescription } }# 2',
    ])
      expect(await ask(text)).toEqual({ looked: false, extensions: undefined });
    const cost = { complexity: expect.any(Number), depth: expect.any(Number) };
    const told = { looked: false, extensions: { cost: expect.objectContaining(cost) } };
    expect(await ask('{ __schema { description } }', COST)).toEqual(told);
    // Kept without the cost where the first one asks for it.
    expect(await ask('query Q { __schema { description } }', COST)).toEqual({ ...told, looked: true });
    expect(await ask('query Q{ __schema { description } }')).toEqual({
      looked: false,
      extensions: undefined,
    });
    expect((await ask('{ __schema { description } }#')).looked).toBe(false);
    expect(
      (await ask('query ($yes: Boolean = true) { __schema { description @include(if: $yes) } }')).looked,
    ).toBe(true);
  });
});
