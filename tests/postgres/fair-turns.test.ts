import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { visitor } from '../support/credentials/session.ts';
import { dataOf } from '../support/refusal.ts';

describe('A client whose requests hold all connections', () => {
  // With one connection, answers come in the order of the turns.
  const app = useApp({ settings: { DATABASE_POOL_SIZE: '1' } });
  const QUERY = '{ posts(limit: 1) { title } }';
  const MANY = 12;

  const waiting = async (client: pg.Client) => {
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows[0]?.count;
  };

  /** How long those who wait for a lock have done so, by the database's clock. */
  const waitedMs = async (client: pg.Client) => {
    const { rows } = await client.query<{ ms: number }>(
      `SELECT 1000 * extract(epoch FROM clock_timestamp() - max(query_start))::float AS ms FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows[0]?.ms;
  };

  it('has the next one after those who have had less', async () => {
    const [heavy, light] = await Promise.all([app.account(), app.account()]);
    await createPost(app, heavy.key);
    const blocker = await app.database.dedicatedClient();
    try {
      await blocker.query('BEGIN; LOCK TABLE posts IN ACCESS EXCLUSIVE MODE');
      for (const { key } of [heavy, light]) dataOf(await app.gql('{ viewer { name } }', { key }));
      const order: string[] = [];
      const ask = (name: string, key: string) => app.gql(QUERY, { key }).then(() => order.push(name));
      const answers = Array.from({ length: MANY }, () => ask('heavy', heavy.key));
      answers.push(ask('light', light.key));
      await expect.poll(() => waiting(blocker)).toBe(1);
      // Longer than the one query of the other can have taken, on however busy a machine.
      await expect.poll(() => waitedMs(blocker)).toBeGreaterThan(500);
      await blocker.query('COMMIT');
      await Promise.all(answers);
      // One was under way. On a busy machine, credentials are read again, and others go on meanwhile.
      expect(order.indexOf('light')).toBeLessThan(MANY / 2);
    } finally {
      await blocker.end();
    }
  });

  it('does not keep them from what is not in the same line, such as the end of a session', async () => {
    const { key } = await app.account();
    const { cookie } = await visitor(app);
    let ended = false;
    const ask = async (): Promise<void> => {
      while (!ended) dataOf(await app.gql(QUERY, { key }));
    };
    const asking = Array.from({ length: MANY }, ask);
    const { status } = await app.fetch('/logout', { method: 'POST', headers: { cookie } });
    ended = true;
    await Promise.all(asking);
    expect(status).toBe(204);
  });
});
