import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { dataOf, expectRefused } from '../../support/refusal.ts';

describe('ANONYMOUS_READ', () => {
  const app = useApp({ settings: { ANONYMOUS_READ: 'true' } });
  let postId = '';
  beforeAll(async () => {
    const { key } = await app.account({ name: 'Ada' });
    const created = await app.gql('mutation { createPost(title: "t", body: "b", tags: ["x"]) { id } }', {
      key,
    });
    postId = created.data.createPost.id;
    await app.gql('mutation ($id: ID!) { createComment(postId: $id, body: "c") { id } }', {
      key,
      variables: { id: postId },
    });
  });

  it('lets callers without credentials read posts, comments, tags and names', async () => {
    const answer = await app.gql(
      `query ($id: ID!) {
        post(id: $id) { title tags author { name posts { title } } comments { body author { name } } }
        posts { id }
        postsConnection { nodes { id } }
      }`,
      { variables: { id: postId } },
    );
    expect(dataOf(answer)).toEqual({
      post: {
        title: 't',
        tags: ['x'],
        author: { name: 'Ada', posts: [{ title: 't' }] },
        comments: [{ body: 'c', author: { name: 'Ada' } }],
      },
      posts: [{ id: postId }],
      postsConnection: { nodes: [{ id: postId }] },
    });
  });

  it.each([
    '{ viewer { id } }',
    '{ users { id } }',
    '{ usersConnection { nodes { id } } }',
    'mutation { createPost(title: "t", body: "b") { id } }',
    'mutation { updatePost(id: "x", title: "t") { id } }',
    'mutation { deletePost(id: "x") }',
    'mutation { createComment(postId: "x", body: "b") { id } }',
    'mutation { deleteComment(id: "x") }',
  ])('opens nothing else: %s', async (query) => {
    const answer = await app.gql(query);
    expectRefused(answer, { code: 'UNAUTHENTICATED', status: 401 });
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer\b/);
    expect(answer.data ?? null).toBeNull();
  });

  it('keeps e-mail addresses back', async () => {
    const answer = await app.gql('query ($id: ID!) { post(id: $id) { author { email } } }', {
      variables: { id: postId },
    });
    expectRefused(answer, { code: 'UNAUTHENTICATED', status: 401 });
    expect(answer.data).toBeUndefined();
  });

  it.each([
    ['beside what is open', '{ posts { id } user(id: "x") { id } }'],
    [
      'in a fragment',
      '{ posts { ...P } } fragment P on Post { author { ...U } } fragment U on User { email }',
    ],
    ['of an account', '{ posts { author { apiKeys { id } } } }'],
    [
      'that is not skipped',
      'query ($skip: Boolean = false) { posts { author { name email @skip(if: $skip) } } }',
    ],
  ])('executes nothing of an operation with something else in it, %s', async (_where, query) => {
    const answer = await app.gql(query);
    expectRefused(answer, { code: 'UNAUTHENTICATED', status: 401 });
    expect(answer.data).toBeUndefined();
  });

  it('minds nothing that is skipped', async () => {
    const answer = await app.gql(
      'query ($me: Boolean!) { posts { id author { name email @include(if: $me) } } viewer @include(if: $me) { id } }',
      { variables: { me: false } },
    );
    expect(dataOf(answer)).toEqual({ posts: [{ id: postId, author: { name: 'Ada' } }] });
  });

  it('does not make bad credentials anonymous', async () => {
    expectRefused(await app.gql('{ posts { id } }', { key: 'wrong' }), {
      code: 'UNAUTHENTICATED',
      status: 401,
    });
  });
});
