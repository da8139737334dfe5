import { describe, expect, it, onTestFinished } from 'vitest';
import { type Database, openDatabase } from '../../../src/database/database.ts';
import { statement } from '../../../src/database/statement.ts';
import { runInPrisma } from '../../../src/database/unit-of-work.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { pgbouncer } from '../../support/database/pgbouncer.ts';
import { postgresOf } from '../../support/database/postgres.ts';

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

  it.runIf(process.env.DATABASE_URL !== undefined)('does the same through PgBouncer', async () => {
    const database = await throughPgBouncer(app);
    await Promise.all(several.map(() => expectExactTimestamps(app, database)));
  });
});
