import { describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { createComment, createPost, seedComments } from '../../../support/content.ts';
import { dataOf } from '../../../support/rejection.ts';

describe('Post.commentCount', () => {
  const app = useApp();

  const state = async ({ key }: Account, id: string) => {
    const query = `{ post(id: "${id}") { commentCount comments(limit: 100) { id } } posts(limit: 1) { id } }`;
    const { post } = dataOf(await app.gql(query, { key }));
    return post as { commentCount: number; comments: { id: string }[] } | null;
  };
  const deleteComment = async ({ key }: Account, id: string): Promise<boolean> =>
    dataOf(await app.gql(`mutation { deleteComment(id: "${id}") }`, { key })).deleteComment;
  const accounts = (count: number) => Promise.all(Array.from({ length: count }, () => app.account()));

  it('is right after many comments at once', async () => {
    const [author, ...readers] = await accounts(6);
    if (author === undefined) throw new Error('no author');
    const id = await createPost(app, author.key);
    const created = await Promise.all(
      Array.from({ length: 30 }, (_, turn) => createComment(app, (readers[turn % 5] ?? author).key, id)),
    );
    const after = await state(author, id);
    expect(after?.commentCount).toBe(30);
    expect(after?.comments.map((comment) => comment.id).sort()).toEqual(created.sort());
  });

  it('is right after comments and deletions at once, each comment deleted by two', async () => {
    const [author, reader] = await accounts(2);
    if (author === undefined || reader === undefined) throw new Error('no accounts');
    const id = await createPost(app, author.key);
    const old = await seedComments(
      app,
      Array.from({ length: 12 }, () => ({ postId: id, authorId: reader.id })),
    );
    const [deleted] = await Promise.all([
      Promise.all(old.flatMap((comment) => [deleteComment(author, comment), deleteComment(reader, comment)])),
      Promise.all(Array.from({ length: 12 }, () => createComment(app, reader.key, id))),
    ]);
    expect(deleted.filter((first) => first)).toHaveLength(old.length);
    const after = await state(author, id);
    expect(after?.commentCount).toBe(12);
    expect(after?.comments).toHaveLength(12);
  });

  it('is right on both posts that are commented on in opposite order', async () => {
    const author = await app.account();
    const ids = [await createPost(app, author.key), await createPost(app, author.key)];
    const both = (first: string, second: string) => `mutation {
      a: createComment(postId: "${first}", body: "x") { id } b: createComment(postId: "${second}", body: "x") { id } }`;
    const [one = '', two = ''] = ids;
    const responses = await Promise.all(
      Array.from({ length: 4 }, (_, turn) =>
        app.gql(turn % 2 === 0 ? both(one, two) : both(two, one), { key: author.key }),
      ),
    );
    // Transactions that lock in opposite order may be rejected, whole, for the client to try again.
    const codes = responses.flatMap(({ errors = [] }) => errors.map(({ extensions }) => extensions.code));
    for (const code of codes) expect(['SERVICE_UNAVAILABLE', 'TIMEOUT']).toContain(code);
    const done = responses.filter(({ errors }) => errors === undefined).length;
    expect(done).toBeGreaterThan(0);
    for (const id of ids) {
      const after = await state(author, id);
      expect(after?.commentCount).toBe(done);
      expect(after?.comments).toHaveLength(done);
    }
  });

  it('lets a post go while others comment on it: each comment is made before or rejected', async () => {
    const [author, reader] = await accounts(2);
    if (author === undefined || reader === undefined) throw new Error('no accounts');
    for (let round = 0; round < 4; round += 1) {
      const id = await createPost(app, author.key);
      const comment = `mutation { createComment(postId: "${id}", body: "x") { id } }`;
      const write = Array.from({ length: 8 }, () => app.gql(comment, { key: reader.key }));
      const gone = app.gql(`mutation { deletePost(id: "${id}") }`, { key: author.key });
      for (const { status, errors = [] } of await Promise.all(write)) {
        expect(status).toBe(200);
        expect(errors.every(({ extensions }) => extensions.code === 'NOT_FOUND')).toBe(true);
      }
      expect(dataOf(await gone)).toEqual({ deletePost: true });
      expect(await state(author, id)).toBeNull();
    }
  });
});
