import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../../support/app.ts';
import { createPost } from '../../../support/content.ts';
import { readEventStream } from '../../../support/streams/event-stream.ts';

const app = useApp();
const account = useAccount(app);

/** What the service says that an operation costs, run or rejected. */
async function costOf(query: string, variables?: Record<string, unknown>) {
  const { extensions, errors } = await app.gql(query, {
    key: account.key,
    headers: { 'x-show-cost': '1' },
    ...(variables === undefined ? {} : { variables }),
  });
  expect(errors).toBeUndefined();
  const cost = extensions?.cost as { complexity: number; depth: number } | undefined;
  return [cost?.complexity, cost?.depth];
}

describe('X-Show-Cost', () => {
  it('puts the figures and their ceilings into the response', async () => {
    const { extensions } = await app.gql('{ viewer { id } }', {
      key: account.key,
      headers: { 'x-show-cost': '1' },
    });
    expect(extensions).toEqual({
      cost: { complexity: 2, depth: 2, maximumComplexity: 5_000, maximumDepth: 10 },
    });
  });

  it.each([{}, { 'x-show-cost': '0' }, { 'x-show-cost': 'yes' }])(
    'says nothing unless asked with 1: %o',
    async (headers) => {
      const response = await app.gql('{ viewer { id } }', { key: account.key, headers });
      expect(response.extensions).toBeUndefined();
    },
  );

  it('is there where the cost is what rejects it', async () => {
    const { status, errors, extensions } = await app.gql(
      '{ posts(limit: 100) { comments(limit: 100) { id } } }',
      { key: account.key, headers: { 'x-show-cost': '1' } },
    );
    expect(status).toBe(400);
    expect(errors?.map((error) => error.extensions.code)).toEqual(['COMPLEXITY_LIMIT']);
    expect(extensions?.cost).toMatchObject({ complexity: 10_101, maximumComplexity: 5_000 });
  });

  it('is there with the events of a subscription', async () => {
    const query = encodeURIComponent('subscription { postCreated { title } }');
    const headers = {
      authorization: `Bearer ${account.key}`,
      accept: 'text/event-stream',
      'x-show-cost': '1',
    };
    const stream = readEventStream(await app.fetch(`/graphql?query=${query}`, { headers }));
    await stream.block();
    await createPost(app, account.key);
    expect((await stream.next()).extensions).toMatchObject({ cost: { complexity: 2, depth: 2 } });
  });

  it('is there with errors of the execution too', async () => {
    const { errors, extensions } = await app.gql(
      'mutation { deletePost(id: "x") updatePost(id: "x", title: "t") { id } }',
      {
        key: account.key,
        headers: { 'x-show-cost': '1' },
      },
    );
    expect(errors).toHaveLength(1);
    expect(extensions?.cost).toMatchObject({ complexity: 3, depth: 2 });
  });
});

describe('complexity and depth', () => {
  it.each([
    ['a field is 1', '{ viewer { id name } }', 3, 2],
    ['a list multiplies what is under it by its limit', '{ posts(limit: 3) { id title } }', 1 + 3 * 2, 2],
    ['or by 20', '{ posts { id } }', 21, 2],
    ['null is no limit', '{ posts(limit: null) { id } }', 21, 2],
    ['nothing is read under a limit of 0', '{ posts(limit: 0) { id author { name } } }', 1, 3],
    ['a list of scalars is a field', '{ posts(limit: 2) { tags } }', 3, 2],
    [
      'lists in lists multiply',
      '{ users(limit: 5) { posts(limit: 4) { comments(limit: 3) { id } } } }',
      1 + 5 * (1 + 4 * (1 + 3)),
      4,
    ],
    ['an object in a list counts for each', '{ posts(limit: 10) { author { name } } }', 1 + 10 * 2, 3],
    [
      'a connection multiplies by first',
      '{ postsConnection(first: 5) { nodes { id } } }',
      1 + 5 * (1 + 1),
      3,
    ],
    [
      'and by limit',
      '{ postsConnection(limit: 5) { edges { cursor node { id } } } }',
      1 + 5 * (1 + 1 + 1 + 1),
      4,
    ],
    ['and by 20', '{ postsConnection { nodes { id } } }', 1 + 20 * 2, 3],
    ['a tenth of what is skipped is added', '{ posts(limit: 3, offset: 1000) { id } }', 1 + 100 + 3, 2],
    [
      'and rounded up',
      '{ posts(limit: 3, offset: 11) { id } users(limit: 1, offset: 1) { id } }',
      3 + 3 + 2 + 1,
      2,
    ],
    [
      'an offset of 0 or null adds nothing',
      '{ a: posts(offset: 0) { id } b: posts(offset: null) { id } }',
      42,
      2,
    ],
    [
      'also for each of the lists around it',
      '{ posts(limit: 4) { comments(limit: 2, offset: 95) { id } } }',
      1 + 4 * (1 + 10 + 2),
      3,
    ],
    [
      'and once where what is under it is nothing',
      '{ posts(limit: 5, offset: 10) { comments(limit: 0, offset: 10) { id } } }',
      1 + 1 + 5 * (1 + 1),
      3,
    ],
    ['an alias counts again', '{ a: viewer { id } b: viewer { id } }', 4, 2],
    ['and so does a field that is repeated', '{ viewer { id id } }', 3, 2],
    [
      'fragments count where they are spread',
      '{ posts(limit: 2) { ...F } } fragment F on Post { id author { ...U } } fragment U on User { name }',
      1 + 2 * 3,
      3,
    ],
    ['inline fragments are no depth', '{ viewer { ... on User { ... { id } } } }', 2, 2],
    ['what is skipped does not count', '{ viewer { id } posts @skip(if: true) { id } }', 2, 2],
    ['nor what is not included', '{ viewer { id ... @include(if: false) { posts { id } } } }', 2, 2],
    ['introspection is one field', '{ __schema { types { fields { type { name } } } } __typename }', 2, 1],
  ])('%s: %s', async (_why, query, complexity, depth) => {
    expect(await costOf(query)).toEqual([complexity, depth]);
  });

  it('variables count with their values, their defaults and without either', async () => {
    const query = 'query ($n: Int = 3) { posts(limit: $n) { id } }';
    expect(await costOf(query, { n: 7 })).toEqual([8, 2]);
    expect(await costOf(query, { n: 7.0 })).toEqual([8, 2]);
    // Whatever came before: null is no limit, and absent means the default.
    expect(await costOf(query, { n: null })).toEqual([21, 2]);
    expect(await costOf(query)).toEqual([4, 2]);
    expect(await costOf(query, { n: null })).toEqual([21, 2]);
    expect(await costOf('query ($n: Int) { postsConnection(first: $n) { nodes { id } } }', { n: 9 })).toEqual(
      [19, 3],
    );
  });

  it.each([
    [2_000_000_000, 1 + 1_000],
    [10_001, 1 + 1_000],
    [-5, 1],
  ])(
    'an offset of %i counts as the nearest that is taken: the field rejects it by name',
    async (offset, complexity) => {
      const { extensions, errors } = await app.gql(`{ posts(limit: 0, offset: ${offset}) { id } }`, {
        key: account.key,
        headers: { 'x-show-cost': '1' },
      });
      expect(errors?.[0]?.extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'offset' });
      expect(extensions?.cost).toMatchObject({ complexity });
    },
  );

  it('an offset counts with the value of its variable too', async () => {
    const query = 'query ($n: Int = 20) { posts(limit: 1, offset: $n) { id } }';
    expect(await costOf(query)).toEqual([1 + 2 + 1, 2]);
    expect(await costOf(query, { n: 10_000 })).toEqual([1 + 1_000 + 1, 2]);
    expect(await costOf(query, { n: null })).toEqual([2, 2]);
    expect(await costOf(query)).toEqual([1 + 2 + 1, 2]);
    const { status, errors } = await app.gql(
      'query ($n: Int) { users(limit: 10) { posts(limit: 2) { comments(limit: 1, offset: $n) { id } } } }',
      { key: account.key, variables: { n: 10_000 } },
    );
    expect(status).toBe(400);
    expect(errors?.[0]?.extensions).toEqual({
      code: 'COMPLEXITY_LIMIT',
      value: 1 + 10 * (1 + 2 * (1 + 1_000 + 1)),
      maximum: 5_000,
    });
  });

  it('variables switch branches on and off', async () => {
    const query =
      'query ($a: Boolean!, $b: Boolean = true) { viewer { id } posts(limit: 4) @include(if: $a) { id title @skip(if: $b) } }';
    expect(await costOf(query, { a: false })).toEqual([2, 2]);
    expect(await costOf(query, { a: true })).toEqual([2 + 5, 2]);
    expect(await costOf(query, { a: true, b: false })).toEqual([2 + 9, 2]);
  });
});
