import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';

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
});
