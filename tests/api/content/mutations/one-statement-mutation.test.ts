import { describe, expect, it, onTestFinished } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { graphqlPost, readResponse } from '../../../support/graphql.ts';
import { dataOf, expectRejected } from '../../../support/rejection.ts';
import { secondInstance } from '../../../support/second-instance.ts';

describe('A mutation that is one statement', () => {
  const app = useApp();

  /** `createPost` as one statement, and with a payload that has to be read. */
  const CREATE =
    'mutation ($title: String!) { createPost(title: $title, body: "b", tags: ["t"]) { id title } }';
  const create = (key: string, title: string) => app.gql(CREATE, { key, variables: { title } });

  async function sql<Row>(text: string): Promise<Row[]> {
    const client = await app.database.dedicatedClient();
    try {
      return (await client.query(text)).rows as Row[];
    } finally {
      await client.end();
    }
  }

  const stored = (title: string) =>
    sql<{ tags: number; events: number }>(
      `SELECT (SELECT count(*)::int FROM tags WHERE post_id = posts.id) AS tags,
              (SELECT count(*)::int FROM events WHERE kind = 'POST_CREATED' AND root_id = posts.id) AS events
       FROM posts WHERE title = '${title}'`,
    );

  it('stores the post, its tags and exactly one event', async () => {
    const { key } = await app.account();
    const { createPost } = dataOf(await create(key, 'whole'));
    expect(createPost).toEqual({ id: expect.any(String), title: 'whole' });
    expect(await stored('whole')).toEqual([{ tags: 1, events: 1 }]);
  });

  it('answers a statement that is too slow with what became of it', async () => {
    const { key } = await app.account();
    const instance = secondInstance(app, { config: { ...app.config, operationTimeoutMs: 3_000 } });
    // PostgreSQL cancels the statement long before its end.
    const seconds = app.database.kind === 'embedded' ? 4 : 600;
    await sql(`CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_sleep(${seconds}); RETURN NEW; END $$;
      CREATE TRIGGER dawdle BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION dawdle()`);
    const request = graphqlPost(CREATE, { key, variables: { title: 'slow' } });
    const response = await readResponse(await instance.fetch('/graphql', request));
    await sql('DROP TRIGGER dawdle ON events');
    if (response.errors === undefined) {
      // The embedded database cannot cancel what it runs.
      expect(app.database.kind).toBe('embedded');
      expect(await stored('slow')).toEqual([{ tags: 1, events: 1 }]);
    } else {
      expectRejected(response, { code: 'TIMEOUT', status: 504 });
      expect(await stored('slow')).toEqual([]);
    }
  });

  it('has a transaction where its payload has to be read', async () => {
    const { key } = await app.account();
    await sql('ALTER TABLE users RENAME TO users_away');
    const restore = () => sql('ALTER TABLE IF EXISTS users_away RENAME TO users');
    onTestFinished(async () => void (await restore()));
    const query = 'mutation { createPost(title: "unread", body: "b") { id author { name } } }';
    expectRejected(await app.gql(query, { key }), { code: 'INTERNAL_SERVER_ERROR', status: 500 });
    await restore();
    expect(await stored('unread')).toEqual([]);
  });
});
