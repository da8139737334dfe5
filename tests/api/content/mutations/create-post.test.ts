import { describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { dataOf, expectBadInput, expectRejected } from '../../../support/rejection.ts';

describe('Mutation.createPost', () => {
  const app = useApp();

  it('stores title, body and tags unchanged, in the name of the caller', async () => {
    const { id, key } = await app.account({ name: 'Ada' });
    const title = '  Überraschung 👩‍🚀 \u202e';
    const query =
      'mutation ($title: String!) { createPost(title: $title, body: "b\\n", tags: ["z", "a"]) { id title body tags author { id name } } }';
    const created = await app.gql(query, { key, variables: { title } });
    expect(created.errors).toBeUndefined();
    expect(created.data.createPost).toEqual({
      id: expect.any(String),
      title,
      body: 'b\n',
      tags: ['z', 'a'],
      author: { id, name: 'Ada' },
    });
    const read = await app.gql('query ($id: ID!) { post(id: $id) { title body tags } }', {
      key,
      variables: { id: created.data.createPost.id },
    });
    expect(read.data.post).toEqual({ title, body: 'b\n', tags: ['z', 'a'] });
  });

  it('gives the post at once as later queries do, without comments', async () => {
    const { key } = await app.account();
    const selection = '{ id title body tags commentCount createdAt comments { id } author { name } }';
    const { createPost } = dataOf(
      await app.gql(`mutation { createPost(title: "T", body: "B") ${selection} }`, { key }),
    );
    expect(createPost).toMatchObject({ tags: [], commentCount: 0, comments: [] });
    const read = dataOf(await app.gql(`{ post(id: "${createPost.id}") ${selection} }`, { key }));
    expect(read.post).toEqual(createPost);
  });

  it('takes `tags: null` and no tags for none', async () => {
    const { key } = await app.account();
    for (const tags of ['', ', tags: null', ', tags: []']) {
      const query = `mutation { createPost(title: "T", body: "B"${tags}) { tags } }`;
      expect(dataOf(await app.gql(query, { key })).createPost.tags).toEqual([]);
    }
  });

  it('takes ten tags of 50 code points and no more, none twice', async () => {
    const { key } = await app.account();
    const query = 'mutation ($tags: [String!]) { createPost(title: "T", body: "B", tags: $tags) { tags } }';
    const create = (tags: unknown) => app.gql(query, { key, variables: { tags } });
    const ten = Array.from({ length: 10 }, (_, index) => `${'👩'.repeat(49)}${index}`);
    expect(dataOf(await create(ten)).createPost.tags).toEqual(ten);
    expect(dataOf(await create(['a', 'A', ' a'])).createPost.tags).toEqual(['a', 'A', ' a']);
    expectBadInput(await create([...ten, 'eleventh']), 'tags', /10/);
    expectBadInput(await create(['a', 'b', 'a']), 'tags', /duplicates/);
    expectBadInput(await create(['👩'.repeat(51)]), 'tags', /1 to 50/);
    expectBadInput(await create(['']), 'tags');
    expectBadInput(await create(['a\0']), 'tags', /NUL/);
    expectBadInput(await create(['\ud800']), 'tags', /surrogate/);
    expectBadInput(await create([null]), 'tags');
  });

  it('needs title and body', async () => {
    const { key } = await app.account();
    for (const args of ['title: "T"', 'body: "B"', 'title: null, body: "B"']) {
      const response = await app.gql(`mutation { createPost(${args}) { id } }`, { key });
      expectRejected(response, { code: 'GRAPHQL_VALIDATION_FAILED' });
    }
    const query = 'mutation ($title: String!) { createPost(title: $title, body: "B") { id } }';
    expectBadInput(await app.gql(query, { key, variables: { title: null } }), 'title');
    expectBadInput(await app.gql(query, { key }), 'title');
  });
});
