import { beforeAll, describe, expect, it } from 'vitest';
import type { Scope } from '../../../src/auth/scopes.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { past, seedComments, seedPosts } from '../../support/content.ts';
import {
  type GraphQLResponse,
  type GraphqlOptions,
  graphqlPost,
  readResponse,
} from '../../support/graphql.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';

const COUNT = 100;
/** In JSON, six times as long: a hundred of them are more than a response may hold. */
const LONG = '\u0001'.repeat(50_000);

/** The database may write the response; or resolvers run. */
const WAYS = [true, false];

describe('The size of what a caller may not read', () => {
  const app = useApp();
  const reader = useAccount(app);
  let post = '';
  beforeAll(async () => {
    [post = ''] = await seedPosts(app, [{ authorId: reader.id, createdAt: past(), body: LONG }]);
    await seedComments(
      app,
      Array.from({ length: 20 }, (_, at) => ({
        postId: post,
        authorId: reader.id,
        createdAt: past(at),
      })),
    );
  });
  const keyWith = async (...scopes: Scope[]) => (await app.account({ scopes })).key;

  const askWith = async (lookAhead: boolean, query: string, options: GraphqlOptions) =>
    readResponse(await secondInstance(app, { lookAhead }).fetch('/graphql', graphqlPost(query, options)));

  const ask = (key: string, selection: string, lookAhead: boolean) =>
    askWith(lookAhead, `query ($ids: [ID!]!) { nodes(ids: $ids) { ${selection} } }`, {
      key,
      variables: { ids: new Array(COUNT).fill(post) },
    });

  function expectAllRejected({ status, data, errors = [] }: GraphQLResponse): void {
    expect(status).toBe(200);
    expect(data.nodes).toEqual(new Array(COUNT).fill(null));
    expect(errors.map(({ path, extensions }) => [path, extensions.code])).toEqual(
      Array.from({ length: COUNT }, (_, at) => [['nodes', at], 'FORBIDDEN']),
    );
  }

  it.each([
    'id ... on Post { body }',
    '... on Post { comments(limit: 20) { post { body } } }',
    '... on Post { id author { name } tags } ... on Node { ... on Post { body } }',
  ])('is not measured in a node, which is null with FORBIDDEN: %s', async (selection) => {
    const keys = [await keyWith('posts:write'), await keyWith('users:read')];
    for (const lookAhead of WAYS) {
      for (const key of keys) expectAllRejected(await ask(key, selection, lookAhead));
      // The same operation, in the same cache, for a caller who may read it.
      const allowed = await ask(reader.key, selection, lookAhead);
      expectRejected(allowed, { code: 'COMPLEXITY_LIMIT', status: 400 });
      for (const key of keys) expectAllRejected(await ask(key, selection, lookAhead));
    }
  });

  it('is not measured in a list below an object that may be read', async () => {
    const { id, key } = await app.account({ scopes: ['users:read'] });
    await seedPosts(
      app,
      Array.from({ length: COUNT }, (_, at) => ({ authorId: id, createdAt: past(at), body: LONG })),
    );
    for (const lookAhead of WAYS)
      for (const list of ['posts(limit: 100) { body }', 'postsConnection(first: 100) { nodes { body } }']) {
        const { status, data, errors } = await askWith(lookAhead, `{ viewer { name ${list} } }`, { key });
        expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['FORBIDDEN']);
        expect(data ?? null).toBeNull();
        expect(status).toBe(403);
      }
  });

  it('does not keep a caller from what it may read beside it', async () => {
    const key = await keyWith('users:read');
    const query = `query ($ids: [ID!]!, $more: Boolean!) { nodes(ids: $ids) { id ... on User { name } ... on Post { body @include(if: $more) } } }`;
    for (const lookAhead of WAYS)
      for (const more of [true, false]) {
        const ids = [reader.id, ...new Array(50).fill(post)];
        const { data, errors } = await askWith(lookAhead, query, { key, variables: { ids, more } });
        expect(data.nodes).toEqual([{ id: reader.id, name: 'Someone' }, ...new Array(50).fill(null)]);
        expect(errors).toHaveLength(50);
        const short = { ids: ids.slice(0, 2), more };
        const all = dataOf(await askWith(lookAhead, query, { key: reader.key, variables: short })).nodes;
        expect(all[1]).toEqual({ id: post, ...(more ? { body: LONG } : {}) });
      }
  });
});
