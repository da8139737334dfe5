import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import { setupError } from './contact.ts';
import type { Database } from './database.ts';
import { isOutage } from './errors.ts';
import { MigrationError, pendingMigrations, unknownMigrations } from './migrate.ts';

const RECHECK_MS = 2_000;

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
 * Logs which migrations are pending, when they have been applied, and which migrations of a newer version the database has.
 * A newer version only adds, so this version runs on them.
 * @throws {DatabaseError}
 * @throws {DatabaseSetupError}
 */
export async function tellHistory(database: Database, log: Logger): Promise<void> {
  try {
    const unknown = await unknownMigrations(database);
    if (unknown.length > 0)
      log.warn(
        { migrations: unknown },
        'the database has migrations of a newer version; this one runs on them',
      );
    const pending = await pendingMigrations(database);
    if (pending.length === 0) return;
    log.warn(
      { migrations: pending },
      'migrations are pending, so /health/ready is 503: apply them with "npm run -s db:migrate"',
    );
    void tellOnceApplied(database, log);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw setupError('DATABASE_URL', error);
    log.error({ reason: error.message }, 'the migrations of the database do not fit this version');
  }
}
