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

/** To an instance whose clock is behind, a token is good for that much longer. */
const CLOCK_SKEW_MS = 120_000;

/** Everything that is kept for a time and no longer. */
export function choresOf(config: Config, database: Database, clock: Clock): Chore[] {
  const production = config.environment === 'production';
  const ago = (ms: number) => new Date(clock.now() - ms);
  return [
    { name: 'events', run: () => pruneEvents(database, ago(config.eventRetentionMs)) },
    { name: 'idempotency keys', run: () => pruneResponses(database, ago(config.idempotencyRetentionMs)) },
    { name: 'expired sessions', run: () => dropExpiredSessions(database, ago(0)) },
    { name: 'expired blocklist entries', run: () => dropExpiredTokens(database, ago(CLOCK_SKEW_MS)) },
    { name: 'expired OAuth records', run: () => dropExpiredOAuthRecords(database, ago(0)) },
    { name: 'old signing keys', run: () => dropOldSigningKeys(database, ago(0), production) },
  ];
}
