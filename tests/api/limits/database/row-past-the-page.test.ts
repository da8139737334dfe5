import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { seedPosts } from '../../../support/content.ts';

/** What the posts of the account have together: more than may be read for one response, which is twice its maximum. */
const POSTS = 5;
const BODY = 'x'.repeat(40_000);

describe('What hangs on the row that tells of a next page', () => {
  const app = useApp({ settings: { MAX_RESPONSE_BYTES: '60000' } });
  let key = '';
  beforeAll(async () => {
    const account = await app.account();
    key = account.key;
    await seedPosts(
      app,
      Array.from({ length: POSTS }, () => ({ authorId: account.id, body: BODY })),
    );
  });

  it.each([
    ['nodes', 'nodes { id author { posts(limit: 50) { body } } }'],
    ['edges', 'edges { node { id author { posts(limit: 50) { body } } } }'],
    ['a connection', 'nodes { id author { postsConnection(first: 50) { nodes { body } } } }'],
  ])('is not read: %s', async (_what, selection) => {
    const query = `{ viewer { postsConnection(first: 0) { ${selection} pageInfo { hasNextPage } } } }`;
    const { status, data } = await app.gql(query, { key });
    expect(status).toBe(200);
    expect(data.viewer.postsConnection).toMatchObject({ pageInfo: { hasNextPage: true } });
  });

  it('is not read in connections within connections, and each page is right', async () => {
    const query = `{ viewer { postsConnection(first: 1) { nodes { id author { postsConnection(first: 2) {
      nodes { id title author { id } } pageInfo { hasNextPage } } } } pageInfo { hasNextPage } } } }`;
    const { data } = await app.gql(query, { key });
    const { posts } = (await app.gql('{ viewer { posts { id title author { id } } } }', { key })).data.viewer;
    expect(data.viewer.postsConnection).toEqual({
      nodes: [
        {
          id: posts[0].id,
          author: { postsConnection: { nodes: posts.slice(0, 2), pageInfo: { hasNextPage: true } } },
        },
      ],
      pageInfo: { hasNextPage: true },
    });
  });
});
