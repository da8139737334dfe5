import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';

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
    const response = await app.gql(
      `query ($id: ID!) {
        post(id: $id) { title tags author { name posts { title } } comments { body author { name } } }
        posts { id }
        postsConnection { nodes { id } }
      }`,
      { variables: { id: postId } },
    );
    expect(dataOf(response)).toEqual({
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
    ['Query.viewer', '{ viewer { id } }'],
    ['Query.users', '{ users { id } }'],
    ['Query.usersConnection', '{ usersConnection { nodes { id } } }'],
    ['Mutation.createPost', 'mutation { createPost(title: "t", body: "b") { id } }'],
    ['Mutation.updatePost', 'mutation { updatePost(id: "x", title: "t") { id } }'],
    ['Mutation.deletePost', 'mutation { deletePost(id: "x") }'],
    ['Mutation.createComment', 'mutation { createComment(postId: "x", body: "b") { id } }'],
    ['Mutation.deleteComment', 'mutation { deleteComment(id: "x") }'],
  ])('opens nothing else, and the 401 names the field: %s', async (coordinate, query) => {
    const response = await app.gql(query);
    expectRejected(response, { code: 'UNAUTHENTICATED', status: 401 });
    expect(response.errors?.[0]?.message).toContain(`"${coordinate}" requires credentials`);
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer\b/);
    expect(response.data ?? null).toBeNull();
  });

  it('keeps e-mail addresses back', async () => {
    const response = await app.gql('query ($id: ID!) { post(id: $id) { author { email } } }', {
      variables: { id: postId },
    });
    expectRejected(response, { code: 'UNAUTHENTICATED', status: 401 });
    expect(response.data).toBeUndefined();
  });

  it.each([
    ['beside what is open', 'Query.user', '{ posts { id } user(id: "x") { id } }'],
    [
      'in a fragment',
      'User.email',
      '{ posts { ...P } } fragment P on Post { author { ...U } } fragment U on User { email }',
    ],
    ['of an account', 'User.apiKeys', '{ posts { author { apiKeys { id } } } }'],
    [
      'that is not skipped',
      'User.email',
      'query ($skip: Boolean = false) { posts { author { name email @skip(if: $skip) } } }',
    ],
  ])('executes nothing of an operation with something else in it, %s', async (_where, coordinate, query) => {
    const response = await app.gql(query);
    expectRejected(response, { code: 'UNAUTHENTICATED', status: 401 });
    expect(response.errors?.[0]?.message).toContain(`"${coordinate}" requires credentials`);
    expect(response.data).toBeUndefined();
  });

  it('minds nothing that is skipped', async () => {
    const response = await app.gql(
      'query ($me: Boolean!) { posts { id author { name email @include(if: $me) } } viewer @include(if: $me) { id } }',
      { variables: { me: false } },
    );
    expect(dataOf(response)).toEqual({ posts: [{ id: postId, author: { name: 'Ada' } }] });
  });

  it('does not make bad credentials anonymous', async () => {
    expectRejected(await app.gql('{ posts { id } }', { key: 'wrong' }), {
      code: 'UNAUTHENTICATED',
      status: 401,
    });
  });
});
