import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { send } from '../support/keyed.ts';
import { dataOf } from '../support/rejection.ts';
import { instanceOnOwnPool } from '../support/second-instance.ts';

describe('A write that another transaction holds up', () => {
  const app = useApp();

  it('ends as TIMEOUT with 504, writes nothing, and works once the way is free', async () => {
    // The embedded database has one backend: there is no second transaction to wait for.
    const { key } = await app.account();
    const hasty = await instanceOnOwnPool(app, { ...app.config, statementTimeoutMs: 300 });
    const id = await createPost(app, key);
    const comment = `mutation { createComment(postId: "${id}", body: "x") { id } }`;
    const other = await app.database.dedicatedClient();
    try {
      await other.query('BEGIN');
      await other.query('SELECT 1 FROM posts WHERE id = $1 FOR NO KEY UPDATE', [id]);
      const response = await send(hasty, { query: comment, key });
      expect(response).toMatchObject({ status: 504, codes: ['TIMEOUT'] });
      await other.query('ROLLBACK');
    } finally {
      await other.end();
    }
    const read = `{ post(id: "${id}") { commentCount comments { id } } }`;
    expect(dataOf(await app.gql(read, { key })).post).toEqual({ commentCount: 0, comments: [] });
    dataOf(await app.gql(comment, { key }));
    expect(dataOf(await app.gql(read, { key })).post.commentCount).toBe(1);
  });
});
