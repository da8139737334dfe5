import {
  dropExpiredOAuthRecords,
  dropExpiredSessions,
  dropExpiredStreamTokens,
  dropExpiredTokens,
} from './auth/expired-credentials.ts';
import { dropOldSigningKeys } from './auth/oauth/signing-keys.ts';
import { pruneEvents } from './events/retention.ts';
import { pruneResponses } from './operation/idempotency/store.ts';
import type { Config } from './platform/config.ts';
import type { Database } from './platform/db/database.ts';
import type { BackgroundJob } from './platform/job-runner.ts';

/** Deletes expired data. Uses the database's clock, because an instance's may be wrong. */
export function backgroundJobs(config: Config, database: Database): BackgroundJob[] {
  const production = config.environment === 'production';
  return [
    { name: 'events', run: () => pruneEvents(database, config.eventRetentionMs) },
    { name: 'idempotency keys', run: () => pruneResponses(database, config.idempotency.retentionMs) },
    { name: 'expired sessions', run: () => dropExpiredSessions(database) },
    { name: 'expired stream tokens', run: () => dropExpiredStreamTokens(database) },
    { name: 'expired blocklist entries', run: () => dropExpiredTokens(database) },
    { name: 'expired OAuth records', run: () => dropExpiredOAuthRecords(database) },
    { name: 'old signing keys', run: () => dropOldSigningKeys(database, production) },
  ];
}
