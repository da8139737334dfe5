import { describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { createPost } from '../../../support/content.ts';
import { planOf, statementsOf } from '../../../support/database/watched-statements.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';

describe('Query.posts(tag:)', () => {
  const app = useApp();
  const query = `query ($tag: String!, $limit: Int, $offset: Int) {
    posts(tag: $tag, limit: $limit, offset: $offset) { id tags }
    postsConnection(tag: $tag, limit: $limit) { nodes { id } pageInfo { hasNextPage } }
  }`;

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
