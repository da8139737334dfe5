import { expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { past, seedComments, seedPosts } from '../../../support/content.ts';
import { statementsOf } from '../../../support/database/watched-statements.ts';
import type { GraphQLResponse } from '../../../support/graphql.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';

const app = useApp();

function complexityOf({ extensions = {} }: GraphQLResponse): number {
  const { complexity } = extensions.cost as { readonly complexity: number };
  return complexity;
}

it('totalCount counts a list exactly up to 10,000, whatever the page', async () => {
  const { id: authorId, key } = await app.account();
  const [postId = ''] = await seedPosts(app, [{ authorId }]);
  await seedComments(
    app,
    Array.from({ length: 9_999 }, (_, index) => ({ postId, authorId, createdAt: past(index) })),
  );
  const read = async () => {
    const query = `{ post(id: "${postId}") { commentsConnection(first: 1) { totalCount pageInfo { hasNextPage } } } }`;
    return dataOf(await app.gql(query, { key })).post.commentsConnection;
  };
  expect(await read()).toEqual({ totalCount: 9_999, pageInfo: { hasNextPage: true } });
  await seedComments(
    app,
    Array.from({ length: 3 }, () => ({ postId, authorId })),
  );
  expect(await read()).toEqual({ totalCount: 10_000, pageInfo: { hasNextPage: true } });
});

it('totalCount is a part of the statement only if it is selected', async () => {
  const { id: authorId, key } = await app.account();
  await seedPosts(app, [{ authorId }, { authorId }]);
  const textOf = async (selection: string) => {
    const query = `{ user(id: "${authorId}") { postsConnection(first: 1) { ${selection} } } }`;
    const found = (await statementsOf(app, key, query)).filter(({ text }) => /\bFROM posts t\b/.test(text));
    expect(found).toHaveLength(1);
    return found[0]?.text ?? '';
  };
  expect(await textOf('totalCount nodes { id }')).toContain('LIMIT 10000');
  expect(await textOf('nodes { id }')).not.toContain('LIMIT 10000');
});

it('totalCount costs 1,000 once for a connection, whatever its size', async () => {
  const { id, key } = await app.account();
  const costOf = async (field: string) =>
    complexityOf(await app.gql(`{ ${field} }`, { key, headers: { 'x-show-cost': '1' } }));
  expect(await costOf('postsConnection(first: 10) { nodes { id } }')).toBe(21);
  expect(await costOf('postsConnection(first: 10) { totalCount nodes { id } }')).toBe(1_031);
  expect(await costOf('postsConnection(first: 0) { totalCount }')).toBe(1_001);
  expect(await costOf('postsConnection(first: 0) { ...A } } fragment A on PostConnection { totalCount')).toBe(
    1_001,
  );
  expect(await costOf(`user(id: "${id}") { postsConnection(first: 5) { totalCount } }`)).toBe(1_007);
  expect(await costOf('users(limit: 2) { postsConnection(first: 5) { totalCount } }')).toBe(2_013);
});

it('A filter costs as many posts as it can read', async () => {
  const { key } = await app.account();
  const costOf = async (args: string, variables = '') => {
    const query = `query ${variables} { posts(limit: 10, ${args}) { id } }`;
    return complexityOf(await app.gql(query, { key, headers: { 'x-show-cost': '1' } }));
  };
  const [plain, checked] = [11, 286];
  const time = '"2020-01-01T00:00:00Z"';
  for (const args of [
    'orderBy: OLDEST',
    'orderBy: RECENTLY_UPDATED',
    'filter: {}',
    'filter: { author: "x" }',
    'filter: { tags: "a" }',
    `filter: { tags: ["a"], createdAfter: ${time}, createdBefore: ${time} }`,
    'tag: "a", filter: { tags: null }',
    `filter: { author: "x", createdAfter: ${time} }`,
    `orderBy: RECENTLY_UPDATED, filter: { author: "x", updatedAfter: ${time} }`,
  ])
    expect([args, await costOf(args)]).toEqual([args, plain]);
  for (const args of [
    'filter: { tags: ["a", "b"] }',
    'filter: { author: "x", tags: ["a"] }',
    'tag: "a", filter: { author: "x" }',
    `filter: { updatedAfter: ${time} }`,
    'orderBy: RECENTLY_UPDATED, tag: "a"',
    `orderBy: RECENTLY_UPDATED, filter: { createdBefore: ${time} }`,
  ])
    expect([args, await costOf(args)]).toEqual([args, checked]);
  expect(await costOf('tag: $tag', '($tag: String)')).toBe(plain);
  expect(await costOf('filter: $filter', '($filter: PostFilter)')).toBe(checked);
  expect(await costOf('filter: { tags: $tags }', '($tags: [String!])')).toBe(checked);
  expect(await costOf('orderBy: $order, tag: "a"', '($order: PostOrder)')).toBe(checked);
  expect(await costOf('offset: 16, filter: { tags: ["a", "b"] }')).toBe(checked + 2 + 400);
});

it('A page of a connection reads as many posts as its filter costs', async () => {
  const { key } = await app.account();
  const query = '{ postsConnection(first: 10, filter: { tags: ["a", "b"] }) { nodes { id } } }';
  const [read] = (await statementsOf(app, key, query)).filter(({ text }) => /\bposts t\b/.test(text));
  // Five for each post of the page and for one more post.
  expect(read?.text).toMatch(/ORDER BY [^()]+ LIMIT 55\)/);
});

it('totalCount with a filter that no index answers counts short lists, and rejects long ones', async () => {
  const { id: authorId, key } = await app.account();
  const { id: other } = await app.account();
  await seedPosts(
    app,
    Array.from({ length: 1_000 }, (_, index) => ({ authorId, tags: index % 10 === 0 ? ['counted'] : [] })),
  );
  const read = () =>
    app.gql(
      `{ postsConnection(first: 0, filter: { author: "${authorId}", tags: ["counted"] }) { totalCount } }`,
      { key },
    );
  expect(dataOf(await read()).postsConnection.totalCount).toBe(100);
  await seedPosts(app, [{ authorId }]);
  expectBadInput(await read(), 'filter', /totalCount/);
  const short = `{ postsConnection(first: 0, filter: { author: "${other}", tags: ["counted"] }) { totalCount } }`;
  expect(dataOf(await app.gql(short, { key })).postsConnection.totalCount).toBe(0);
});
