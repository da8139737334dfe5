import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type TestApp, useAccount, useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { holdTable, makeCommentsSlow, SLOW_BODY } from '../support/database/blocked.ts';
import { connect, postgresOf } from '../support/database/postgres.ts';
import { type GraphqlOptions, graphqlPost, readResponse } from '../support/graphql.ts';
import { readMetric } from '../support/metrics.ts';
import { dataOf, expectRejected } from '../support/rejection.ts';
import { instanceOnOwnPool, secondInstance } from '../support/second-instance.ts';
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

describe('a statement past its time', () => {
  const app = useApp();

  it('is gone from the server by the time it is answered, though the table is still held', async () => {
    const { key } = await app.account();
    const hasty = await instanceOnOwnPool(app, { ...app.config, statementTimeoutMs: 1_000 });
    await app.gql(QUERY, { key });
    const { busy, waiting } = await observe(app);
    await hold(app);
    // Its own connection holds the table, in a transaction; that the key was used is written by and by.
    await expect.poll(busy).toBe(1);
    const responses = await Promise.all([1, 2, 3].map(() => askAt(hasty, QUERY, { key })));
    for (const response of responses) expectRejected(response, { code: 'TIMEOUT', status: 504 });
    expect(await waiting()).toBe(0);
    await expect.poll(busy).toBe(1);
  });
});

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

  it('is cancelled in a mutation, which is rolled back', async () => {
    const { key } = account;
    const { busy } = await observe(app);
    const postId = await createPost(app, key);
    const title = 'cancelled';
    const query = `mutation ($postId: ID!, $title: String!) {
      createPost(title: $title, body: "b") { id }
      createComment(postId: $postId, body: "${SLOW_BODY}") { id }
    }`;
    const response = await askAt(hastyInstance(), query, { key, variables: { postId, title } });
    expectRejected(response, { code: 'TIMEOUT', status: 504 });
    await expect.poll(busy).toBe(0);
    const { posts } = dataOf(await app.gql('{ posts(limit: 100) { title } }', { key }));
    expect(posts).not.toContainEqual({ title });
  });

  it('is cancelled also where Prisma sent it', async () => {
    const { key } = account;
    const { busy } = await observe(app);
    const id = await createPost(app, key, { title: 'kept' });
    const held = await holdTable(app, 'comments');
    onTestFinished(held.release);
    const deletion = 'mutation ($id: ID!) { deletePost(id: $id) }';
    const response = await askAt(hastyInstance(), deletion, { key, variables: { id } });
    expectRejected(response, { code: 'TIMEOUT', status: 504 });
    await expect.poll(busy).toBe(1);
    await held.release();
    expect(
      dataOf(await app.gql('query ($id: ID!) { post(id: $id) { title } }', { key, variables: { id } })),
    ).toEqual({
      post: { title: 'kept' },
    });
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
