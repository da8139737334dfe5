import { expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { connect } from '../support/database/postgres.ts';
import { database, run } from '../support/processes/started.ts';

const LAST = '20261123010000_administration';
const UNDO = `DROP FUNCTION credentials_ended, account_changed, authorization_ended CASCADE;
  ALTER TABLE users DROP COLUMN deleted_at, DROP COLUMN tokens_valid_from, ALTER COLUMN email_key SET NOT NULL;
  ALTER TABLE stream_tokens DROP COLUMN credential_issued_at;
  DELETE FROM _prisma_migrations WHERE migration_name = '${LAST}'`;

it('a migration that waits for a lock gives way to requests, and tries again until it has it', async () => {
  const url = await database();
  await run(url, UNDO);
  const [holder, request, watcher] = [await connect(url), await connect(url), await connect(url)];
  await holder.query('BEGIN; SELECT FROM users');
  const opened = await openDatabase({
    config: loadConfig({ NODE_ENV: 'test', DATABASE_URL: url }),
    log: createLogger({ level: 'error', pretty: false }),
  });
  onTestFinished(() => opened.close());
  const applied = migrate(opened);

  const attempts = new Set<string>();
  const look = async () => {
    const { rows } = await watcher.query<{ began: string }>(
      `SELECT xact_start::text AS began FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ 'ALTER TABLE "users"'`,
    );
    for (const { began } of rows) attempts.add(began);
    return attempts.size;
  };
  await expect.poll(look).toBe(1);
  // It comes behind the migration, which the transaction above would hold up for good.
  expect((await request.query('SELECT FROM users')).rowCount).toBe(0);
  await expect.poll(look).toBeGreaterThan(1);
  await holder.query('ROLLBACK');
  expect(await applied).toEqual([LAST]);
});
