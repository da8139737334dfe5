import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { copyIn } from '../../src/database/transfer/copy-in.ts';
import { pgEndpoint } from '../../src/database/transfer/endpoints.ts';
import { type Snapshot, withSnapshot } from '../../src/database/transfer/snapshot.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { createEmptyDatabase } from '../support/database/empty-database.ts';

async function connect(url: string) {
  const log = createLogger({ level: 'error', pretty: false });
  const database = await openDatabase({ config: loadConfig({ DATABASE_URL: url }), log });
  const client = await database.dedicatedClient();
  onTestFinished(async () => {
    await client.end();
    await database.close();
  });
  return client;
}

/** Two databases with settings of their own: one that is migrated, and one that is empty. */
async function twoDatabases() {
  const made = await createTestDatabase();
  onTestFinished(made.drop);
  const other = await createEmptyDatabase('copied');
  onTestFinished(other.drop);
  const from = await connect(made.settings.DATABASE_URL ?? '');
  const to = await connect(other.url);
  /** Copies, and writes what `damage` makes of the rows. */
  const copy = (damage = (text: string) => text, watch: (bytes: number) => void = () => undefined) =>
    withSnapshot(from, 'public', async ({ contents, pieces }: Snapshot) => {
      const endpoint = pgEndpoint(to);
      await endpoint.rows('BEGIN');
      const target: typeof endpoint = {
        ...endpoint,
        copyIn(columns, data) {
          watch(data.length);
          return endpoint.copyIn(columns, Buffer.from(damage(data.toString())));
        },
      };
      const copied = await copyIn({ target, schema: 'public', origin: 'The source', contents, pieces });
      await endpoint.rows('COMMIT');
      return copied;
    });
  return { from, to, copy };
}

const USER = `INSERT INTO users (id, name, email, email_key) VALUES (gen_random_uuid(), E'tab\\t, \\\\N, 😀 "x"', 'a@b', NULL)`;
const posts = (count: number, bytes: number) =>
  `INSERT INTO posts (id, title, body, author_id)
   SELECT gen_random_uuid(), n, (SELECT string_agg(md5(n || '-' || k), '') FROM generate_series(1, ${bytes / 32}) k), users.id
   FROM users, generate_series(1, ${count}) n`;

describe('a copy of a database', () => {
  it('has every row, however many and however large, unchanged', async () => {
    const { from, to, copy } = await twoDatabases();
    await from.query(USER);
    await from.query(posts(40, 320_000));
    await from.query(posts(20_000, 320));
    await from.query(
      `INSERT INTO api_keys (id, user_id, name, prefix, hash, scopes, per_second, expires_at)
       SELECT gen_random_uuid(), id, '', '', '\\x00ff', ARRAY['a', NULL, '"'], 0.1 + 0.2, 'infinity' FROM users`,
    );
    await from.query(
      "INSERT INTO events (kind, root_id, owner_id) SELECT 'POST_CREATED', id, author_id FROM posts LIMIT 10",
    );
    let largest = 0;
    const { tables } = await copy(undefined, (bytes) => {
      largest = Math.max(largest, bytes);
    });
    expect(tables).toContainEqual({ name: 'posts', rows: 20_040 });
    const rows =
      'SELECT p.id, md5(body) AS body, u.name, email_key, scopes, per_second::text, k.hash, k.expires_at::text FROM posts p JOIN users u ON u.id = author_id JOIN api_keys k ON k.user_id = u.id ORDER BY p.id';
    expect((await to.query(rows)).rows).toEqual((await from.query(rows)).rows);
    const last = 'SELECT last_value, is_called FROM events_id_seq';
    expect((await to.query(last)).rows).toEqual((await from.query(last)).rows);
    expect(largest).toBeLessThan(8 * 1_048_576);
  });

  it.each([
    ['a row is lost', (text: string) => text.slice(text.indexOf('\n') + 1)],
    ['a letter changes', (text: string) => text.replace('letter', 'Letter')],
  ])('is rejected if %s', async (_what, damage) => {
    const { from, copy } = await twoDatabases();
    await from.query(USER);
    await from.query("UPDATE users SET email = 'letter'");
    await expect(copy(damage)).rejects.toThrow(/^The copy of table "users" differs from the original/);
  });

  it('leaves out a table that no migration has made, and names it', async () => {
    const { from, to, copy } = await twoDatabases();
    await from.query('CREATE TABLE own AS SELECT 1 AS one');
    expect((await copy()).leftOut).toEqual(['own']);
    expect((await to.query("SELECT to_regclass('own') IS NULL AS missing")).rows).toEqual([
      { missing: true },
    ]);
  });

  it.each([
    [
      'a column',
      'ALTER TABLE tags ADD own int',
      /other columns in table "tags" than its migrations create \("own" int4\)/,
    ],
    ['a type', 'ALTER TABLE tags ALTER position TYPE int', /\("position" int4\)/],
  ])('is rejected if the source has %s of another version', async (_what, sql, reason) => {
    const { from, copy } = await twoDatabases();
    await from.query(sql);
    await expect(copy()).rejects.toThrow(reason);
  });
});
