import { describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { createPost } from '../../../support/content.ts';
import { dataOf } from '../../../support/rejection.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UTC_MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('Query.post', () => {
  const app = useApp();
  const query =
    'query ($id: ID!) { post(id: $id) { id title body tags commentCount createdAt author { id } comments { id } } }';

  it('gives the post with the id, which is a UUIDv7 in whatever case it is written', async () => {
    const author = await app.account();
    const id = await createPost(app, author.key, { title: 'Title', tags: ['z', 'a', 'm'] });
    expect(id).toMatch(UUID_V7);
    for (const written of [id, id.toUpperCase()]) {
      const { post } = dataOf(await app.gql(query, { key: author.key, variables: { id: written } }));
      expect(post).toEqual({
        id,
        title: 'Title',
        body: 'Body.',
        tags: ['z', 'a', 'm'],
        commentCount: 0,
        createdAt: expect.stringMatching(UTC_MILLISECONDS),
        author: { id: author.id },
        comments: [],
      });
    }
  });
});
