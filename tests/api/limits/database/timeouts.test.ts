import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { settingsSql } from '../../../../src/database/session-settings.ts';
import { type Account, type TestApp, useApp } from '../../../support/app.ts';
import { seedPosts } from '../../../support/content.ts';
import { holdTable, makeCommentsSlow, SLOW_BODY } from '../../../support/database/blocked.ts';
import { readMetric } from '../../../support/metrics.ts';
import { expectRejected } from '../../../support/rejection.ts';
import { clockOf } from '../../../support/time/stepped-clock.ts';

const CREATE_AND_COMMENT = `mutation ($postId: ID!, $title: String!) {
  createPost(title: $title, body: "b") { id }
  createComment(postId: $postId, body: "${SLOW_BODY}") { id }
}`;
const DELETE = 'mutation ($id: ID!) { deletePost(id: $id) }';

/** The titles of all posts, once the service answers again. */
async function titles(app: TestApp, key: string): Promise<string[]> {
  let posts: { title: string }[] = [];
  await expect
    .poll(async () => {
      const { status, data } = await app.gql('{ posts(limit: 100) { title } }', { key });
      posts = data?.posts ?? [];
      return status;
    })
    .toBe(200);
  return posts.map(({ title }) => title);
}

async function hold(app: TestApp, table: 'posts' | 'comments' | 'api_keys') {
  const held = await holdTable(app, table);
  onTestFinished(held.release);
  return held;
}

/**
 * Tests that hold a table run on a server only. Everybody waits for the holder on the embedded database, so a background
 * statement can reach its limit first. That restarts the database without the holder, and the query succeeds.
 */
const onServer = it.runIf(process.env.DATABASE_URL !== undefined);

describe('the time of a database statement', () => {
  const app = useApp({ settings: { STATEMENT_TIMEOUT_MS: '2500' } });
  let account: Account;
  beforeAll(async () => {
    account = await app.account();
    await makeCommentsSlow(app);
  });

  onServer('ends a query with 504, and the service goes on', async () => {
    const { key } = account;
    const held = await hold(app, 'posts');
    const response = await app.gql('{ posts { id } }', { key });
    expectRejected(response, { code: 'TIMEOUT', status: 504 });
    expect(response.data ?? null).toBeNull();
    await held.release();
    await titles(app, key);
  });

  it('ends a mutation with 504, and nothing of it stays, not even what was done before', async () => {
    const { id, key } = account;
    const [postId = ''] = await seedPosts(app, [{ authorId: id }]);
    const title = 'undone with the rest';
    const response = await app.gql(CREATE_AND_COMMENT, { key, variables: { postId, title } });
    expect(response.status).toBe(504);
    expect(response.errors?.map(({ extensions }) => extensions.code)).toContain('TIMEOUT');
    expect(response.data ?? null).toBeNull();
    expect(await titles(app, key)).not.toContain(title);
    expect(await app.prisma.comment.count({ where: { postId } })).toBe(0);
  });

  onServer('ends what waits for others to end their transactions', async () => {
    const { id: authorId, key } = account;
    const [id] = await seedPosts(app, [{ authorId, title: 'to stay' }]);
    const held = await hold(app, 'comments');
    expectRejected(await app.gql(DELETE, { key, variables: { id } }), { code: 'TIMEOUT', status: 504 });
    await held.release();
    expect(await titles(app, key)).toContain('to stay');
  });

  onServer('ends the look-up of credentials alike, which takes its token', async () => {
    const { key } = await app.account();
    const held = await hold(app, 'api_keys');
    const response = await app.gql('{ posts { id } }', { key });
    expectRejected(response, { code: 'TIMEOUT', status: 504 });
    expect(response.headers.get('x-ratelimit-remaining')).toBeTruthy();
    await held.release();
    await titles(app, key);
  });

  onServer('says nothing of the database', async () => {
    const { key } = account;
    const held = await hold(app, 'posts');
    const { errors } = await app.gql('{ posts { id } }', { key });
    await held.release();
    expect(JSON.stringify(errors)).not.toMatch(/SQL|SELECT|statement|canceling|prisma|pg/i);
    await titles(app, key);
  });
});

describe('the time of an operation', () => {
  const app = useApp({
    settings: { OPERATION_TIMEOUT_MS: '2500', STATEMENT_TIMEOUT_MS: '8000', MAX_CONCURRENT_OPERATIONS: '1' },
    // The look-up of the key is done once: held tables then hold up operations alone.
    clock: clockOf(() => 1_800_000_000_000),
  });
  let account: Account;
  beforeAll(async () => {
    account = await app.account();
    await makeCommentsSlow(app);
    await app.gql('{ viewer { id } }', { key: account.key });
  });

  it('ends a mutation with 504 and rolls it back', async () => {
    const { id, key } = account;
    const [postId = ''] = await seedPosts(app, [{ authorId: id }]);
    const title = 'rolled back';
    const response = await app.gql(CREATE_AND_COMMENT, { key, variables: { postId, title } });
    expectRejected(response, { code: 'TIMEOUT', status: 504 });
    expect(await titles(app, key)).not.toContain(title);
  });

  it('includes the wait for others', async () => {
    const { key } = account;
    const held = await hold(app, 'posts');
    const responses = await Promise.all([1, 2, 3].map(() => app.gql('{ posts { id } }', { key })));
    for (const response of responses) expectRejected(response, { code: 'TIMEOUT', status: 504 });
    await held.release();
    await expect.poll(() => readMetric(app, 'content_graph_graphql_operations_running')).toBe(0);
    expect(await readMetric(app, 'content_graph_graphql_operations_waiting')).toBe(0);
    await titles(app, key);
  });
});

describe('the time of a transaction', () => {
  const app = useApp();

  it('has a limit where the server knows transaction_timeout, and older servers take the settings without it', async () => {
    const client = await app.database.dedicatedClient();
    onTestFinished(() => client.end());
    await client.query(settingsSql({ schema: 'public', transactionLimitMs: 61_000 }));
    const { rows } = await client.query<{ limit: string | null; major: number }>(
      `SELECT current_setting('transaction_timeout', true) AS "limit",
         current_setting('server_version_num')::int / 10000 AS major`,
    );
    expect(rows[0]?.limit).toBe((rows[0]?.major ?? 0) >= 17 ? '61s' : null);
  });
});
