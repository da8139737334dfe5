import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import { setupError } from './contact.ts';
import type { Database } from './database.ts';
import { isOutage } from './errors.ts';
import { MigrationError, pendingMigrations, unknownMigrations } from './migrate.ts';

const RECHECK_MS = 2_000;

/** The names of the pending migrations. Says in the log if the history does not fit; nothing is pending then. */
async function pendingOrTold(database: Database, log: Logger): Promise<string[]> {
  try {
    return await pendingMigrations(database);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    log.error({ reason: error.message }, 'the migrations of the database do not fit this version');
    return [];
  }
}

async function tellOnceApplied(database: Database, log: Logger): Promise<void> {
  for (;;) {
    await delay(RECHECK_MS, undefined, { ref: false });
    if (database.watch.closed) return;
    try {
      if ((await pendingMigrations(database)).length > 0) continue;
      return log.info('the pending migrations have been applied');
    } catch (error) {
      // The watch of the database logs an outage.
      if (isOutage(error)) continue;
      return log.error({ err: error }, 'the migrations of the database could not be read');
    }
  }
}

/**
 * Says in the log which migrations are pending, once they have been applied, and which the database has from a
 * newer version: that one only adds, so this one runs on it. Throws DatabaseError, DatabaseSetupError.
 */
export async function tellHistory(database: Database, log: Logger): Promise<void> {
  try {
    const unknown = await unknownMigrations(database);
    if (unknown.length > 0)
      log.warn(
        { migrations: unknown },
        'the database has migrations of a newer version; this one runs on them',
      );
    const pending = await pendingOrTold(database, log);
    if (pending.length === 0) return;
    log.warn(
      { migrations: pending },
      'migrations are pending, so /health/ready is 503: apply them with "npm run -s db:migrate"',
    );
    void tellOnceApplied(database, log);
  } catch (error) {
    throw setupError('DATABASE_URL', error);
  }
}
