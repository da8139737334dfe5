import {
  dropExpiredOAuthRecords,
  dropExpiredSessions,
  dropExpiredTokens,
} from './auth/expired-credentials.ts';
import { dropOldSigningKeys } from './auth/oauth/signing-keys.ts';
import { pruneEvents } from './events/retention.ts';
import { pruneResponses } from './http/idempotency/store.ts';
import type { Clock } from './platform/clock.ts';
import type { Config } from './platform/config.ts';
import type { Database } from './platform/db/database.ts';
import type { Chore } from './platform/housekeeping.ts';

/** Everything that is kept for a time and no longer. */
export function choresOf(config: Config, database: Database, clock: Clock): Chore[] {
  const ago = (ms: number) => new Date(clock.now() - ms);
  return [
    { name: 'events', run: () => pruneEvents(database, ago(config.eventRetentionMs)) },
    { name: 'idempotency keys', run: () => pruneResponses(database, ago(config.idempotencyRetentionMs)) },
    { name: 'expired sessions', run: () => dropExpiredSessions(database, ago(0)) },
    { name: 'expired blocklist entries', run: () => dropExpiredTokens(database, ago(0)) },
    { name: 'expired OAuth records', run: () => dropExpiredOAuthRecords(database, ago(0)) },
    { name: 'old signing keys', run: () => dropOldSigningKeys(database, ago(0)) },
  ];
}
