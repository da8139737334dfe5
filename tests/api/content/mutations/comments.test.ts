import { describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { createComment, createPost } from '../../../support/content.ts';
import { dataOf, expectForbidden, expectRejected } from '../../../support/rejection.ts';

const app = useApp();

describe('Mutation.createComment', () => {
  const comment = ({ key }: Account, postId: string, body: string) =>
    app.gql(
      'mutation ($postId: ID!, $body: String!) { createComment(postId: $postId, body: $body) { id body createdAt author { id } post { id commentCount } } }',
      { key, variables: { postId, body } },
    );

  it('adds the text unchanged to anybody’s post, in the name of the caller, the newest last', async () => {
    const author = await app.account();
    const reader = await app.account();
    const postId = await createPost(app, author.key);
    const body = '\n  Schön! 👩‍🚀\u202e ';
    const first = dataOf(await comment(reader, postId, body)).createComment;
    expect(first).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{14}7/),
      body,
      createdAt: expect.stringMatching(/\.\d{3}Z$/),
      author: { id: reader.id },
      post: { id: postId, commentCount: 1 },
    });
    const second = dataOf(await comment(author, postId, ' ')).createComment;
    const read = await app.gql(`{ post(id: "${postId}") { comments { id body } } }`, { key: reader.key });
    expect(dataOf(read).post.comments).toEqual([
      { id: first.id, body },
      { id: second.id, body: ' ' },
    ]);
  });

  it('says NOT_FOUND of a post that is gone', async () => {
    const author = await app.account();
    const postId = await createPost(app, author.key);
    dataOf(await app.gql(`mutation { deletePost(id: "${postId}") }`, { key: author.key }));
    expectRejected(await comment(author, postId, 'Too late.'), { code: 'NOT_FOUND' });
  });
});

describe('Mutation.deleteComment', () => {
  const remove = ({ key }: Account, id: string) =>
    app.gql('mutation ($id: ID!) { deleteComment(id: $id) }', { key, variables: { id } });

  it('is for the comment’s author, the post’s author and admins', async () => {
    const postAuthor = await app.account();
    const commenter = await app.account();
    const postId = await createPost(app, postAuthor.key);
    const commentsLeft = async () =>
      dataOf(await app.gql(`{ post(id: "${postId}") { commentCount } }`, { key: commenter.key })).post
        .commentCount;
    const stays = await createComment(app, commenter.key, postId);
    expectForbidden(await remove(await app.account(), stays));
    expect(await commentsLeft()).toBe(1);
    for (const who of [commenter, postAuthor, await app.account({ role: 'admin' })]) {
      const id = await createComment(app, commenter.key, postId);
      expect(dataOf(await remove(who, id))).toEqual({ deleteComment: true });
      expect(await commentsLeft()).toBe(1);
    }
  });

  it('does not let the author of another comment on the post delete this one', async () => {
    const postAuthor = await app.account();
    const [one, two] = [await app.account(), await app.account()];
    const postId = await createPost(app, postAuthor.key);
    await createComment(app, one.key, postId);
    expectForbidden(await remove(one, await createComment(app, two.key, postId)));
  });

  it('is false the second time', async () => {
    const author = await app.account();
    const id = await createComment(app, author.key, await createPost(app, author.key));
    expect(dataOf(await remove(author, id))).toEqual({ deleteComment: true });
    expect(dataOf(await remove(author, id))).toEqual({ deleteComment: false });
  });
});
