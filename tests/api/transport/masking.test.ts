import { beforeAll, describe, expect, it } from 'vitest';
import { API_KEY } from '../../../src/auth/api-keys.ts';
import { statement } from '../../../src/database/statement.ts';
import { type TestApp, useApp } from '../../support/app.ts';

/** What a client must never read: SQL, names of tables and libraries, stacks, files. */
const INTERNAL =
  /relation|select|insert|column|does not exist|comments|prisma|postgres|pglite|pothos|yoga|node_modules|\.ts\b|\bat \w+.*:\d+|stack/i;

/** Breaks the database of the app behind its back. */
async function breakDatabase(app: TestApp, sql: string): Promise<void> {
  await app.database.query(statement(`break_${sql.replaceAll(/\W+/g, '_').slice(0, 40)}`, sql), []);
}

function linesWith(app: TestApp, requestId: string) {
  return app.logged
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.requestId === requestId);
}

describe('an internal error', () => {
  const app = useApp();
  let key = '';
  let postId = '';
  beforeAll(async () => {
    ({ key } = await app.account());
    const created = await app.gql('mutation { createPost(title: "t", body: "b") { id } }', { key });
    postId = created.data.createPost.id;
    await breakDatabase(app, 'DROP TABLE comments CASCADE');
  });
  const broken = (headers: Record<string, string> = {}) =>
    app.gql('query ($id: ID!) { post(id: $id) { title comments { body } } }', {
      key,
      variables: { id: postId },
      headers,
    });

  it('is 500, says the request id and nothing of the inside', async () => {
    const { status, errors, data } = await broken({ 'x-request-id': 'request-1' });
    expect(status).toBe(500);
    // How much of the response one broken statement takes with it is the planner's business.
    expect(data?.post ?? null).toBeNull();
    expect(errors).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('request-1'),
        extensions: { code: 'INTERNAL_SERVER_ERROR', requestId: 'request-1' },
      }),
    ]);
    expect(errors?.[0]?.message).not.toMatch(INTERNAL);
  });

  it('is logged in full under that id', async () => {
    await broken({ 'x-request-id': 'request-2' });
    const lines = linesWith(app, 'request-2');
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 50,
        err: expect.objectContaining({
          message: expect.stringContaining('comments'),
          stack: expect.stringMatching(/\.ts:\d+/),
        }),
      }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({ path: '/graphql', status: 500, errorCodes: ['INTERNAL_SERVER_ERROR'] }),
    );
  });

  it('does not reach those who ask for something else', async () => {
    const { status, errors } = await app.gql('{ posts { title author { name } } }', { key });
    expect(errors).toBeUndefined();
    expect(status).toBe(200);
  });
});

describe('a database without the table of API keys', () => {
  const app = useApp();
  const ask = (key: string) => app.gql('{ viewer { id } }', { key });
  beforeAll(() => breakDatabase(app, 'DROP TABLE api_keys CASCADE'));

  it('is an internal error for a well-formed key, and not a 401', async () => {
    const { status, errors } = await ask(API_KEY.generate());
    expect(status).toBe(500);
    expect(errors?.[0]?.extensions.code).toBe('INTERNAL_SERVER_ERROR');
    expect(JSON.stringify(errors)).not.toMatch(/api_keys|relation/);
  });
});

describe('a database that cannot be reached', () => {
  // Nothing listens on port 1.
  const app = useApp({ settings: { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none' } });

  it('is 503 with Retry-After and nothing internal', async () => {
    const { status, headers, errors } = await app.gql('{ posts { id } }', { key: API_KEY.generate() });
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(errors).toEqual([
      {
        message: expect.not.stringMatching(/pool|connect|ECONN|127|socket|database/i),
        extensions: { code: 'SERVICE_UNAVAILABLE' },
      },
    ]);
  });

  it('makes the service not ready, and leaves it alive', async () => {
    const ready = await app.fetch('/health/ready');
    expect(ready.status).toBe(503);
    expect(await ready.text()).not.toMatch(/ECONN|127/);
    expect((await app.fetch('/health/live')).status).toBe(200);
  });

  it('answers what needs no database', async () => {
    expect((await app.gql('{ __typename }')).data).toEqual({ __typename: 'Query' });
  });
});
