import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { newId } from '../../../src/platform/ids.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { oauthClient } from '../../support/credentials/oauth.ts';
import { connect, postgresOf } from '../../support/database/postgres.ts';

const MIGRATION = '20261124010000_zones';

/** Every instant that an earlier version may have written wrong. */
const INSTANTS = `SELECT of, id, extract(epoch FROM at)::float8 AS at FROM (
  SELECT 'users' AS of, id::text, created_at AS at FROM users
  UNION ALL SELECT 'clients', id::text, created_at FROM oauth_clients
  UNION ALL SELECT 'keys', id::text, created_at FROM api_keys
  UNION ALL SELECT 'ends of keys', id::text, expires_at FROM api_keys
  UNION ALL SELECT 'tags', post_id::text || name, created_at FROM tags) AS instants ORDER BY of, id`;

describe.each(['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu'])('On a server of %s', (TimeZone) => {
  const app = useApp({ world: { TimeZone } });

  it('the migration repairs what was written as a local time, and leaves alone what was not', async () => {
    const client = await connect(postgresOf(app).url);
    // As by an earlier version: the text of an instant in UTC, taken for a time of the zone.
    const asLocal = (column: string) => `${column} = ${column} AT TIME ZONE 'UTC' AT TIME ZONE '${TimeZone}'`;
    await client.query('SET search_path = public; SET extra_float_digits = 1');

    const revoked = { early: newId(), late: newId() };
    for (const wrong of [true, false]) {
      const { id, key } = await app.account();
      const post = await createPost(app, key, { tags: ['a', 'b'] });
      const { id: dated } = await createApiKey(app.database, {
        userId: id,
        name: 'k',
        scopes: ['posts:read'],
        expiresAt: new Date(Date.now() + 90 * 60_000),
      });
      const { id: clientId } = await oauthClient(app, { owner: { id } });
      if (!wrong) continue;
      await client.query(`UPDATE users SET ${asLocal('created_at')} WHERE id = '${id}'`);
      await client.query(`UPDATE oauth_clients SET ${asLocal('created_at')} WHERE id = '${clientId}'`);
      await client.query(
        `UPDATE api_keys SET ${asLocal('created_at')}, ${asLocal('expires_at')} WHERE id = '${dated}'`,
      );
      await client.query(`UPDATE tags SET ${asLocal('created_at')} WHERE post_id = '${post}'`);
    }
    const ends = new Date(Date.now() + 15 * 60_000);
    for (const jti of Object.values(revoked))
      await app.prisma.revokedToken.create({ data: { jti, expiresAt: ends } });
    await client.query(`UPDATE revoked_tokens SET ${asLocal('expires_at')} WHERE jti = '${revoked.early}'`);

    await client.query('DELETE FROM _prisma_migrations WHERE migration_name = $1', [MIGRATION]);
    expect(await migrate(app.database)).toEqual([MIGRATION]);

    const { rows } = await client.query<{ of: string; at: number | null }>(INSTANTS);
    expect(rows.length).toBe(2 + 2 + 2 * 2 + 2 * 2 + 2 * 2);
    for (const { of, at } of rows)
      if (at !== null) {
        const expected = Date.now() / 1000 + (of === 'ends of keys' ? 90 * 60 : 0);
        expect({ of, off: Math.abs(at - expected) > 60 }).toEqual({ of, off: false });
      }
    // A revoked token stays rejected until it has expired, at least.
    const blocked = await client.query('SELECT FROM revoked_tokens WHERE expires_at < $1', [
      ends.toISOString(),
    ]);
    expect(blocked.rows).toEqual([]);
  });
});
