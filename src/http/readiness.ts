import type { Database } from '../platform/db/database.ts';
import { pendingMigrations } from '../platform/db/migrate.ts';

/** Whether the service should be sent requests. */
export interface Readiness {
  /** What speaks against it, in words for operators; undefined where nothing does. Throws DatabaseError. */
  problem(): Promise<string | undefined>;
  /** From here on the service is about to go. */
  leave(): void;
}

/** Migrations that were once applied stay so; the database is asked all the same, since it may be gone. */
export function createReadiness(database: Database): Readiness {
  let leaving = false;
  let migrated = false;
  return {
    async problem() {
      if (leaving) return 'shutting down';
      const pending = await pendingMigrations(database);
      if (!migrated && pending.length > 0) return `migrations are pending: ${pending.join(', ')}`;
      migrated = true;
      return undefined;
    },
    leave() {
      leaving = true;
    },
  };
}
