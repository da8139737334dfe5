import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { createComment, createPost } from '../support/content.ts';
import { besidePool } from '../support/database/postgres.ts';
import { dataOf } from '../support/rejection.ts';

const FOLLOW = `query ($id: ID!, $after: String) { post(id: $id) { commentsConnection(first: 10, after: $after) {
  nodes { body } pageInfo { endCursor } } } }`;

describe('Whoever follows the comments of a post by cursor', () => {
  const app = useApp();

  it('gets one that had to wait, though its transaction began before those that came first', async () => {
    const { key } = await app.account();
    const id = await createPost(app, key);
    await createComment(app, key, id, 'first');
    const holder = await besidePool(app);
    await holder.query('BEGIN');
    await holder.query('SELECT FROM posts WHERE id = $1 FOR NO KEY UPDATE', [id]);
    const waiting = createComment(app, key, id, 'had to wait');
    await expect
      .poll(async () => {
        // Within a transaction it would know of no backend that has come since.
        await holder.query('SELECT pg_stat_clear_snapshot()');
        const { rows } = await holder.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        return rows.length;
      })
      .toBe(1);
    // Another comment, by whoever has the post.
    await holder.query(
      `INSERT INTO comments (id, body, post_id, author_id, created_at)
       SELECT gen_random_uuid(), 'came between', $1, author_id, clock_timestamp() FROM posts WHERE id = $1`,
      [id],
    );
    await holder.query('COMMIT');
    const read = async (after: string | null) =>
      dataOf(await app.gql(FOLLOW, { key, variables: { id, after } })).post.commentsConnection;
    const between = await read(null);
    await waiting;
    const bodies = (page: { nodes: { body: string }[] }) => page.nodes.map(({ body }) => body);
    const rest = bodies(await read(between.pageInfo.endCursor));
    expect([...bodies(between), ...rest]).toEqual(['first', 'came between', 'had to wait']);
  });

  it('gets all of them, whoever writes meanwhile', async () => {
    const { key } = await app.account();
    const id = await createPost(app, key);
    const seen: string[] = [];
    let after: string | null = null;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; n < 12; n += 1) await createComment(app, key, id, `${writer} ${n}`);
    });
    const written = Promise.all(writers);
    let done = false;
    void written.then(() => {
      done = true;
    });
    for (let last = false; !last; ) {
      last = done;
      for (;;) {
        const { nodes, pageInfo }: { nodes: { body: string }[]; pageInfo: { endCursor: string | null } } =
          dataOf(await app.gql(FOLLOW, { key, variables: { id, after } })).post.commentsConnection;
        if (nodes.length === 0) break;
        seen.push(...nodes.map(({ body }) => body));
        after = pageInfo.endCursor;
      }
    }
    await written;
    expect(new Set(seen).size).toBe(96);
    expect(seen).toHaveLength(96);
  });
});
