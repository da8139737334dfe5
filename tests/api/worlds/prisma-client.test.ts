import { describe, expect, it, onTestFinished } from 'vitest';
import { type Database, openDatabase } from '../../../src/database/database.ts';
import { statement } from '../../../src/database/statement.ts';
import { runInPrisma } from '../../../src/database/unit-of-work.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { oauthClient } from '../../support/credentials/oauth.ts';
import { pgbouncer } from '../../support/database/pgbouncer.ts';
import { postgresOf } from '../../support/database/postgres.ts';
import { issueToken } from '../../support/streams/stream-token.ts';

/** Winter and summer, both hours that have one name in Berlin, and milliseconds. */
const TIMESTAMPS = [
  '2027-01-15T12:00:00.123Z',
  '2027-07-15T12:00:00.000Z',
  '2027-10-31T00:30:00.000Z',
  '2027-10-31T01:30:00.999Z',
];

const EXPIRY = statement<{ ms: number }>(
  'test_expiry',
  'SELECT (extract(epoch FROM expires_at) * 1000)::float8 AS ms FROM api_keys WHERE id = $1',
);

async function expectExactTimestamps(app: TestApp, database: Database): Promise<void> {
  const { id: userId } = await app.account();
  for (const text of TIMESTAMPS) {
    const expiresAt = new Date(text);
    const written = await runInPrisma(database, async ({ apiKey }) => {
      const { id } = await apiKey.findFirstOrThrow({ where: { userId } });
      await apiKey.updateMany({ where: { id }, data: { expiresAt } });
      return apiKey.findFirst({ where: { id, expiresAt: { lte: expiresAt, gte: expiresAt } } });
    });
    expect(written?.expiresAt).toEqual(expiresAt);
    expect(await database.query(EXPIRY, [written?.id ?? ''])).toEqual([{ ms: expiresAt.getTime() }]);
  }
}

/** The lists of commands in SQL. */
const LISTS: readonly (readonly [command: string, sql: string])[] = [
  [
    'user list',
    `SELECT id, name, CASE WHEN email_key IS NOT NULL THEN email END AS email, role, disabled_at IS NOT NULL AS disabled
     FROM users ORDER BY created_at, id`,
  ],
  [
    'api-key list',
    `SELECT k.id, k.name, k.prefix, k.scopes, k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt",
       k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", k.suspended_at AS "suspendedAt", u.email AS "user"
     FROM api_keys k JOIN users u ON u.id = k.user_id ORDER BY k.created_at, k.id`,
  ],
  [
    'stream-token list',
    `SELECT t.id, u.email AS "user", t.credential_kind AS credentials, t.client_id AS client, t.operation::json->'query' AS query,
       t.created_at AS "createdAt", t.last_used_at AS "lastUsedAt", t.expires_at AS "expiresAt", t.ends_at AS "maxExpiresAt"
     FROM stream_tokens t JOIN users u ON u.id = t.user_id ORDER BY t.created_at, t.id`,
  ],
  [
    'oauth-client list',
    `SELECT c.id AS client_id, c.name, c.grants, c.scopes, c.created_at AS "createdAt", c.redirect_uris, c.post_logout_redirect_uris,
       c.secret_hash IS NULL AS public, u.email AS owner
     FROM oauth_clients c JOIN users u ON u.id = c.owner_id ORDER BY c.created_at, c.id`,
  ],
];

async function expectListsOfSql(app: TestApp, database: Database): Promise<void> {
  for (const [command, sql] of LISTS) {
    const { json, failure } = await adminCommand({ config: app.config, database }, command.split(' '));
    const rows = await app.database.query(statement<object>('test_list', sql), []);
    expect({ command, failure, json }).toEqual({
      command,
      failure: undefined,
      json: JSON.parse(JSON.stringify(rows)),
    });
    expect(rows.length).toBeGreaterThan(0);
  }
}

async function throughPgBouncer(app: TestApp): Promise<Database> {
  const url = await pgbouncer(postgresOf(app).url);
  const database = await openDatabase({
    config: { ...app.config, database: { ...postgresOf(app), url } },
    log: createLogger({ level: 'error', pretty: false }),
  });
  onTestFinished(() => database.close());
  return database;
}

describe.each([
  { TimeZone: 'Europe/Berlin', DateStyle: 'German, DMY' },
  { TimeZone: 'America/New_York', DateStyle: 'SQL, MDY' },
  { TimeZone: 'Asia/Kathmandu', DateStyle: 'Postgres, DMY' },
])('Prisma Client in a unit of work on a server with $TimeZone and $DateStyle', (world) => {
  const app = useApp({ world });
  const several = [1, 2, 3, 4];

  it('writes, compares and reads timestamps exactly', () => expectExactTimestamps(app, app.database));

  it('lists what SQL lists', async () => {
    const { id, key } = await app.account();
    await issueToken(app, { authorization: `Bearer ${key}` });
    await oauthClient(app, { owner: { id } });
    await expectListsOfSql(app, app.database);
  });

  it.runIf(process.env.DATABASE_URL !== undefined)('does the same through PgBouncer', async () => {
    const database = await throughPgBouncer(app);
    await Promise.all(several.map(() => expectExactTimestamps(app, database)));
    await expectListsOfSql(app, database);
  });
});
