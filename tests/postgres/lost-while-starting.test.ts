import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { migrate, pendingMigrations } from '../../src/platform/db/migrate.ts';
import { createLogger } from '../../src/platform/log.ts';
import { connect } from '../support/database/postgres.ts';
import { database } from '../support/processes/started.ts';

/** The advisory lock of Prisma Migrate. */
const MIGRATION_LOCK = 72_707_369;

describe('A start whose database connection is ended while it migrates', () => {
  it('connects again and applies what is pending', async () => {
    const url = await database();
    const holder = await connect(url);
    await holder.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    await holder.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const opened = await openDatabase({
      config: loadConfig({ NODE_ENV: 'test', DATABASE_URL: url }),
      log: createLogger({ level: 'error', pretty: false }),
    });
    onTestFinished(() => opened.close());

    const applied = migrate(opened);
    const endWaiting = async () => {
      const { rowCount } = await holder.query(
        `SELECT pg_terminate_backend(pid) FROM pg_locks
         WHERE locktype = 'advisory' AND objid = $1 AND NOT granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        [MIGRATION_LOCK],
      );
      return rowCount;
    };
    await expect.poll(endWaiting).toBe(1);
    await expect.poll(endWaiting).toBe(1);
    await holder.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);

    expect(await applied).not.toEqual([]);
    expect(await pendingMigrations(opened)).toEqual([]);
  });
});
