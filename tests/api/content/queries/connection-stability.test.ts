import { describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { createComment, createPost, past, seedPosts } from '../../../support/content.ts';
import { connectionsOf, pageArguments, readPage } from '../../../support/lists.ts';
import { dataOf } from '../../../support/rejection.ts';

describe('Connections while others write', () => {
  const app = useApp();

  const postsOf = (id: string) => {
    const [posts] = connectionsOf(id, '').filter(({ coordinate }) => coordinate === 'User.postsConnection');
    if (posts === undefined) throw new Error('no connection of posts');
    return posts;
  };
  const deletePost = async ({ key }: Account, id: string) =>
    expect(dataOf(await app.gql(`mutation { deletePost(id: "${id}") }`, { key }))).toEqual({
      deletePost: true,
    });

  it('go on after a cursor whose own post is gone, and whose neighbours are', async () => {
    const author = await app.account();
    const posts = postsOf(author.id);
    const ids = await seedPosts(
      app,
      [4, 3, 2, 2, 1].map((ms) => ({ authorId: author.id, createdAt: past(ms) })),
    );
    const { pageInfo } = await readPage(app, author.key, posts, 'first: 2');
    for (const id of ids.slice(0, 3)) await deletePost(author, id);
    const rest = await readPage(app, author.key, posts, pageArguments(100, pageInfo.endCursor));
    expect(rest.nodes.map(({ id }) => id)).toEqual([ids[3], ids[4]]);
    expect(rest.pageInfo.hasPreviousPage).toBe(true);
  });

  it('go on after a comment that is gone', async () => {
    const author = await app.account();
    const postId = await createPost(app, author.key);
    const [comments] = connectionsOf('', postId).filter(({ list }) => list.includes('comments'));
    if (comments === undefined) throw new Error('no connection of comments');
    const ids: string[] = [];
    for (const body of ['one', 'two', 'three']) ids.push(await createComment(app, author.key, postId, body));
    const { pageInfo } = await readPage(app, author.key, comments, 'first: 2');
    dataOf(await app.gql(`mutation { deleteComment(id: "${ids[1]}") }`, { key: author.key }));
    const rest = await readPage(app, author.key, comments, pageArguments(5, pageInfo.endCursor));
    expect(rest.nodes).toEqual([{ id: ids[2] }]);
  });
});
