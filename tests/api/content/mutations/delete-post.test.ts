import { describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { createComment, createPost } from '../../../support/content.ts';
import { dataOf, expectForbidden } from '../../../support/rejection.ts';

describe('Mutation.deletePost', () => {
  const app = useApp();

  const remove = ({ key }: Account, id: string) =>
    app.gql('mutation ($id: ID!) { deletePost(id: $id) }', { key, variables: { id } });
  const exists = async ({ key }: Account, id: string) =>
    dataOf(await app.gql(`{ post(id: "${id}") { id } }`, { key })).post !== null;

  it('takes the post out of every list, with its comments and tags', async () => {
    const author = await app.account();
    const commenter = await app.account();
    const id = await createPost(app, author.key, { tags: ['short-lived'] });
    const kept = await createPost(app, author.key, { tags: ['short-lived'] });
    const comment = await createComment(app, commenter.key, id);
    const keptComment = await createComment(app, commenter.key, kept);
    expect(dataOf(await remove(author, id))).toEqual({ deletePost: true });
    const query = `{ post(id: "${id}") { id } user(id: "${author.id}") { posts { id } }
      posts(tag: "short-lived") { id commentCount comments { id } } }`;
    expect(dataOf(await app.gql(query, { key: author.key }))).toEqual({
      post: null,
      user: { posts: [{ id: kept }] },
      posts: [{ id: kept, commentCount: 1, comments: [{ id: keptComment }] }],
    });
    const again = `mutation { deleteComment(id: "${comment}") }`;
    expect(dataOf(await app.gql(again, { key: commenter.key }))).toEqual({ deleteComment: false });
  });

  it('is false the second time, and changes nothing then', async () => {
    const author = await app.account();
    const id = await createPost(app, author.key);
    const kept = await createPost(app, author.key);
    expect(dataOf(await remove(author, id))).toEqual({ deletePost: true });
    expect(dataOf(await remove(author, id))).toEqual({ deletePost: false });
    expect(await exists(author, kept)).toBe(true);
  });

  it('is for the author and admins', async () => {
    const author = await app.account();
    const id = await createPost(app, author.key);
    expectForbidden(await remove(await app.account(), id));
    expect(await exists(author, id)).toBe(true);
    expect(dataOf(await remove(await app.account({ role: 'admin' }), id))).toEqual({ deletePost: true });
    expect(await exists(author, id)).toBe(false);
  });

  it('is true for exactly one of many at once', async () => {
    const author = await app.account();
    const id = await createPost(app, author.key);
    await createComment(app, author.key, id);
    const responses = await Promise.all(Array.from({ length: 8 }, () => remove(author, id)));
    const results = responses.map((response) => dataOf(response).deletePost);
    expect(results.filter((deleted) => deleted)).toHaveLength(1);
  });
});
