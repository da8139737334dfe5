import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type TestApp, useAccount, useApp } from '../support/app.ts';
import { holdTable, makeCommentsSlow } from '../support/database/blocked.ts';
import { connect, postgresOf } from '../support/database/postgres.ts';
import { type GraphqlOptions, graphqlPost, readResponse } from '../support/graphql.ts';
import { readMetric } from '../support/metrics.ts';
import { dataOf, expectRejected } from '../support/rejection.ts';
import { secondInstance } from '../support/second-instance.ts';
import { clockOf } from '../support/time/stepped-clock.ts';

const QUERY = '{ posts { id } }';

/** Another program on the database of the service. */
async function observe(app: TestApp) {
  const client = await connect(postgresOf(app).url);
  return {
    /** How many connections of the service are busy, or in the middle of a transaction. */
    async busy(): Promise<number> {
      const { rows } = await client.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database()
           AND application_name = 'content-graph-api' AND state <> 'idle'`,
      );
      return rows[0]?.count ?? -1;
    },
    /** How many of them wait for a lock: whatever has been ended does not, though its connection may not be idle yet. */
    async waiting(): Promise<number> {
      const { rows } = await client.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database()
           AND application_name = 'content-graph-api' AND wait_event_type = 'Lock'`,
      );
      return rows[0]?.count ?? -1;
    },
  };
}

async function hold(app: TestApp) {
  const held = await holdTable(app, 'posts');
  onTestFinished(held.release);
  return held;
}

const askAt = async ({ fetch }: Pick<TestApp, 'fetch'>, query: string, options: GraphqlOptions) =>
  readResponse(await fetch('/graphql', graphqlPost(query, options)));

describe('a statement of an operation past its time', () => {
  const clock = clockOf(() => 1_800_000_000_000);
  const app = useApp({ settings: { DATABASE_POOL_SIZE: '2' }, clock });
  /** An instance on the same connections whose operations have little time. */
  const hastyInstance = () =>
    secondInstance(app, { config: { ...app.config, operationTimeoutMs: 2_000 }, clock });
  const account = useAccount(app);
  beforeAll(async () => {
    await makeCommentsSlow(app);
    await app.gql(QUERY, { key: account.key });
  });

  it('is cancelled while the table is still held', async () => {
    const { busy } = await observe(app);
    const hasty = hastyInstance();
    await hold(app);
    const responses = await Promise.all([1, 2, 3, 4].map(() => askAt(hasty, QUERY, { key: account.key })));
    for (const response of responses) expectRejected(response, { code: 'TIMEOUT', status: 504 });
    await expect.poll(busy).toBe(1);
    await expect.poll(() => readMetric(hasty, 'content_graph_graphql_operations_running')).toBe(0);
  });

  it('takes no other with it that comes after it on the same connection', async () => {
    const { key } = account;
    const hasty = hastyInstance();
    for (let round = 0; round < 4; round += 1) {
      const held = await holdTable(app, 'posts');
      const cancelled = await Promise.all([1, 2].map(() => askAt(hasty, QUERY, { key })));
      // A few at a time, so that none waits long for a connection.
      for (let wave = 0; wave < 10; wave += 1) {
        const after = Array.from({ length: 4 }, () => app.gql('{ users(limit: 1) { id } }', { key }));
        for (const response of await Promise.all(after)) dataOf(response);
      }
      for (const response of cancelled) expect(response.status).toBe(504);
      await held.release();
    }
  });
});
