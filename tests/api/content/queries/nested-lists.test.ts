import { beforeAll, describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../../support/app.ts';
import { past, seedComments, seedPosts } from '../../../support/content.ts';
import { dataOf } from '../../../support/rejection.ts';

interface Node {
  readonly id: string;
}

const idsOf = (nodes: readonly Node[]) => nodes.map(({ id }) => id);

describe('Nested lists', () => {
  const app = useApp();
  const ada = useAccount(app, { name: 'Ada' });
  const linus = useAccount(app, { name: 'Linus' });
  /** Ada's posts, the newest first: two share each millisecond. */
  let adas: string[] = [];
  /** The comments on Ada's newest post, the oldest first. */
  let comments: string[] = [];

  beforeAll(async () => {
    const ids = await seedPosts(
      app,
      Array.from({ length: 25 }, (_, index) => ({
        authorId: ada.id,
        createdAt: past(Math.floor(index / 2)),
      })),
    );
    adas = ids.reverse();
    await seedPosts(app, [{ authorId: linus.id, createdAt: past(1_000) }]);
    const postId = adas[0] ?? '';
    comments = await seedComments(
      app,
      Array.from({ length: 25 }, (_, index) => ({
        postId,
        authorId: index % 2 === 0 ? ada.id : linus.id,
        createdAt: past(Math.floor(index / 2)),
      })),
    );
  });

  it('User.posts: the newest first, 20 of them or as many as `limit` says', async () => {
    const query = `{ user(id: "${ada.id}") { posts { id } all: posts(limit: 100) { id } none: posts(limit: 0) { id } } }`;
    const { user } = dataOf(await app.gql(query, { key: ada.key }));
    expect(idsOf(user.posts)).toEqual(adas.slice(0, 20));
    expect(idsOf(user.all)).toEqual(adas);
    expect(user.none).toEqual([]);
  });

  it('Post.comments: the oldest first, from `offset` on', async () => {
    const query = `{ post(id: "${adas[0]}") {
      comments { id } all: comments(limit: 100) { id } part: comments(limit: 4, offset: 3) { id }
      rest: comments(offset: 20) { id } beyond: comments(offset: 10000) { id } commentCount } }`;
    const { post } = dataOf(await app.gql(query, { key: ada.key }));
    expect(idsOf(post.comments)).toEqual(comments.slice(0, 20));
    expect(idsOf(post.all)).toEqual(comments);
    expect(idsOf(post.part)).toEqual(comments.slice(3, 7));
    expect(idsOf(post.rest)).toEqual(comments.slice(20));
    expect(post.beyond).toEqual([]);
    expect(post.commentCount).toBe(25);
  });

  it('User.comments and User.commentsConnection: newest first, and by descending id within a millisecond', async () => {
    const author = await app.account();
    const [postId = ''] = await seedPosts(app, [{ authorId: author.id, createdAt: past(-1_000) }]);
    const oldestFirst = await seedComments(
      app,
      Array.from({ length: 25 }, (_, index) => ({
        postId,
        authorId: author.id,
        createdAt: past(Math.floor(index / 2)),
      })),
    );
    const query = `{ user(id: "${author.id}") {
      comments { id } all: comments(limit: 100) { id } page: commentsConnection(first: 100) { nodes { id } } } }`;
    const { user } = dataOf(await app.gql(query, { key: ada.key }));
    const newestFirst = oldestFirst.toReversed();
    expect(idsOf(user.comments)).toEqual(newestFirst.slice(0, 20));
    expect(idsOf(user.all)).toEqual(newestFirst);
    expect(idsOf(user.page.nodes)).toEqual(newestFirst);
  });

  it('keep different arguments under different aliases apart, for many parents at once', async () => {
    const query = `{ posts(limit: 3) { id
      one: comments(limit: 1) { id } two: comments(limit: 2) { id } skipped: comments(limit: 2, offset: 1) { id }
      page: commentsConnection(first: 3) { nodes { id } pageInfo { hasNextPage } }
      author { id latest: posts(limit: 1) { id } few: posts(limit: 3) { id } } } }`;
    const { posts } = dataOf(await app.gql(query, { key: ada.key }));
    const [ofLinus, first, second] = posts;
    expect(first).toEqual({
      id: adas[0],
      one: [{ id: comments[0] }],
      two: comments.slice(0, 2).map((id) => ({ id })),
      skipped: comments.slice(1, 3).map((id) => ({ id })),
      page: { nodes: comments.slice(0, 3).map((id) => ({ id })), pageInfo: { hasNextPage: true } },
      author: { id: ada.id, latest: [{ id: adas[0] }], few: adas.slice(0, 3).map((id) => ({ id })) },
    });
    expect(second).toMatchObject({ id: adas[1], one: [], two: [], skipped: [], author: { id: ada.id } });
    expect(second.page).toEqual({ nodes: [], pageInfo: { hasNextPage: false } });
    expect(ofLinus.author.id).toBe(linus.id);
    expect(ofLinus.author.few).toHaveLength(1);
  });
});
