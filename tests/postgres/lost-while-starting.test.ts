import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { migrate, pendingMigrations } from '../../src/database/migrate.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';
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
    const ended = new Set<number>();
    /** Ends the connection that waits for the lock. Resolves to the number of connections ended so far. */
    const endWaiting = async () => {
      const { rows } = await holder.query<{ pid: number }>(
        `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'SELECT pg_try_advisory_lock%'`,
      );
      for (const { pid } of rows) ended.add(pid);
      return ended.size;
    };
    await expect.poll(endWaiting).toBe(2);
    await holder.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);

    expect(await applied).not.toEqual([]);
    expect(await pendingMigrations(opened)).toEqual([]);
  });
});
