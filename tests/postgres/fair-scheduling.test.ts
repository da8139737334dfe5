import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { visitor } from '../support/credentials/session.ts';
import { makeCommentsSlow, SLOW_BODY } from '../support/database/blocked.ts';
import { besidePool } from '../support/database/postgres.ts';
import { readMetric } from '../support/metrics.ts';
import { startLoop } from '../support/processes/process.ts';
import { dataOf } from '../support/rejection.ts';
import { clockOf } from '../support/time/stepped-clock.ts';

describe('A client whose requests hold all connections', () => {
  // With one connection, responses come in the order of the slots.
  const app = useApp({
    settings: { DATABASE_POOL_SIZE: '1' },
    // The look-up of a key is done once: then only operations wait.
    clock: clockOf(() => 1_800_000_000_000),
  });
  const QUERY = '{ posts(limit: 1) { title } }';
  const MANY = 12;

  /** The backend that works on the slow comment, once it has done so for long. */
  const slowPid = async (client: pg.Client) => {
    const { rows } = await client.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
       AND query LIKE '%INSERT INTO comments%' AND query_start < clock_timestamp() - interval '500 ms'
       AND pid <> pg_backend_pid()`,
    );
    return rows[0]?.pid;
  };

  it('has the next one after those who have had less', async () => {
    const [heavy, light] = await Promise.all([app.account(), app.account()]);
    const postId = await createPost(app, heavy.key);
    await makeCommentsSlow(app);
    const looker = await besidePool(app);
    for (const { key } of [heavy, light]) dataOf(await app.gql('{ viewer { name } }', { key }));
    const comment = `mutation { createComment(postId: "${postId}", body: "${SLOW_BODY}") { id } }`;
    const slow = app.gql(comment, { key: heavy.key });
    // Longer than the one query of the other can have taken, on however busy a machine.
    await expect.poll(() => slowPid(looker)).toEqual(expect.any(Number));
    const pid = await slowPid(looker);
    const order: string[] = [];
    const ask = (name: string, key: string) => app.gql(QUERY, { key }).then(() => order.push(name));
    const responses = Array.from({ length: MANY }, () => ask('heavy', heavy.key));
    responses.push(ask('light', light.key));
    await expect.poll(() => readMetric(app, 'content_graph_graphql_operations_running')).toBe(MANY + 2);
    await looker.query('SELECT pg_cancel_backend($1)', [pid]);
    await Promise.all([...responses, slow]);
    // On a busy machine, credentials are read again, and others go on meanwhile.
    expect(order.indexOf('light')).toBeLessThan(MANY / 2);
  });

  it('does not keep them from what is not in the same queue, such as the end of a session', async () => {
    const { key } = await app.account();
    const { cookie } = await visitor(app);
    const asking = Array.from({ length: MANY }, () =>
      startLoop(async () => void dataOf(await app.gql(QUERY, { key }))),
    );
    const { status } = await app.fetch('/logout', { method: 'POST', headers: { cookie } });
    await Promise.all(asking.map(({ stop }) => stop()));
    expect(status).toBe(204);
  });
});
