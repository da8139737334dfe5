import { dropOldSigningKeys } from '../auth/oauth/signing-keys.ts';
import type { Config } from '../platform/config.ts';
import {
  dropExpiredOAuthRecords,
  dropExpiredSessions,
  dropExpiredStreamTokens,
  dropExpiredTokens,
  dropOldApiKeys,
} from './expired-credentials.ts';
import type { Job } from './job.ts';
import { pruneEvents } from './old-events.ts';
import { pruneResponses } from './old-responses.ts';

/** All clean-up there is. */
export function cleanUpJobs({ eventRetentionMs, idempotency, environment }: Config): Job[] {
  return [
    { name: 'events', run: (db, signal) => pruneEvents(db, eventRetentionMs, signal) },
    { name: 'idempotency_keys', run: (db, signal) => pruneResponses(db, idempotency.retentionMs, signal) },
    { name: 'sessions', run: dropExpiredSessions },
    { name: 'api_keys', run: dropOldApiKeys },
    { name: 'stream_tokens', run: dropExpiredStreamTokens },
    { name: 'revoked_tokens', run: dropExpiredTokens },
    { name: 'oauth_records', run: dropExpiredOAuthRecords },
    { name: 'signing_keys', run: (db) => dropOldSigningKeys(db, environment === 'production') },
  ];
}
