import { describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { createPost, past, seedPosts } from '../../../support/content.ts';
import { planOf, statementsOf } from '../../../support/database/watched-statements.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';

describe('Query.posts(tag:)', () => {
  const app = useApp();
  const query = `query ($tag: String!, $limit: Int, $offset: Int) {
    posts(tag: $tag, limit: $limit, offset: $offset) { id tags }
    postsConnection(tag: $tag, limit: $limit) { nodes { id } pageInfo { hasNextPage } }
  }`;

  it('gives the posts with the tag and no others, the newest first', async () => {
    const { id: authorId, key } = await app.account();
    const ids = await seedPosts(
      app,
      [2, 0, 1, 1].map((ms, index) => ({
        authorId,
        createdAt: past(ms),
        tags: index === 1 ? ['other'] : ['wanted', 'other'],
      })),
    );
    const wanted = [ids[0], ids[3], ids[2]];
    const all = dataOf(await app.gql(query, { key, variables: { tag: 'wanted' } }));
    expect(all.posts.map((post: { id: string }) => post.id)).toEqual(wanted);
    expect(all.posts[0].tags).toEqual(['wanted', 'other']);
    expect(all.postsConnection.nodes.map((post: { id: string }) => post.id)).toEqual(wanted);
    const part = dataOf(await app.gql(query, { key, variables: { tag: 'wanted', limit: 1, offset: 1 } }));
    expect(part.posts.map((post: { id: string }) => post.id)).toEqual([ids[3]]);
    expect(part.postsConnection.pageInfo.hasNextPage).toBe(true);
  });

  it('skips `offset` of the posts with the tag, in their order', async () => {
    const { id: authorId, key } = await app.account();
    const dates = Array.from({ length: 30 }, (_, index) => past((index * 7) % 10));
    await seedPosts(
      app,
      dates.map((createdAt, index) => ({
        authorId,
        createdAt,
        tags: index % 5 === 0 ? ['between'] : ['first', 'skipped'],
      })),
    );
    const page = async (limit: number, offset: number) => {
      const { posts } = dataOf(await app.gql(query, { key, variables: { tag: 'skipped', limit, offset } }));
      return posts.map((post: { id: string }) => post.id);
    };
    const all = await page(100, 0);
    expect(all).toHaveLength(24);
    for (const limit of [1, 5, 7, 100])
      for (let offset = 1; offset <= 25; offset += 1)
        expect(await page(limit, offset)).toEqual(all.slice(offset, offset + limit));
    expect(await page(100, 10_000)).toEqual([]);
  });

  it('passes over what `offset` skips without reading the posts', async () => {
    const { key } = await app.account();
    const read = await statementsOf(app, key, '{ posts(tag: "skipped", limit: 5, offset: 10) { title } }');
    const list = read.find(({ text }) => text.includes('OFFSET'));
    if (list === undefined) throw new Error('nothing was skipped');
    const plan = await planOf(app, list, 'COSTS');
    // Once, for the rows that are shown.
    expect(plan.match(/"Relation Name":"posts"/g)).toHaveLength(1);
  });

  it('compares letter for letter, whatever the letters are', async () => {
    const { key } = await app.account();
    const tags = ['Case', 'case', ' case', '%', '_', '’"\\', '👩‍🚀', 'e\u0301', 'é'];
    const posts = new Map<string, string>();
    for (const tag of tags) posts.set(tag, await createPost(app, key, { tags: [tag] }));
    for (const [tag, id] of posts) {
      const found = dataOf(await app.gql(query, { key, variables: { tag } }));
      expect(found.posts).toEqual([{ id, tags: [tag] }]);
    }
    expect(dataOf(await app.gql(query, { key, variables: { tag: 'nobody used it' } })).posts).toEqual([]);
  });

  it('follows the tags of a post as they are changed, and forgets a deleted one', async () => {
    const { key } = await app.account();
    const id = await createPost(app, key, { tags: ['before', 'kept'] });
    const ids = async (tag: string) => {
      const { posts } = dataOf(await app.gql(query, { key, variables: { tag } }));
      return posts.map((post: { id: string }) => post.id);
    };
    dataOf(await app.gql(`mutation { updatePost(id: "${id}", tags: ["kept", "after"]) { id } }`, { key }));
    expect([await ids('before'), await ids('kept'), await ids('after')]).toEqual([[], [id], [id]]);
    dataOf(await app.gql(`mutation { deletePost(id: "${id}") }`, { key }));
    expect([await ids('kept'), await ids('after')]).toEqual([[], []]);
  });

  it.each([
    ['the empty one', ''],
    ['51 characters', 'x'.repeat(51)],
    ['NUL', 'a\0'],
    ['a lone surrogate', '\ud83d'],
  ])('rejects what can be no tag: %s', async (_what, tag) => {
    const { key } = await app.account();
    const list = 'query ($tag: String!) { posts(tag: $tag) { id } }';
    expectBadInput(await app.gql(list, { key, variables: { tag } }), 'tag');
    const connection = 'query ($tag: String!) { postsConnection(tag: $tag) { nodes { id } } }';
    expectBadInput(await app.gql(connection, { key, variables: { tag } }), 'tag');
  });
});
