import { expiredSessions, expiredStreamTokens, expiredTokens, oldApiKeys } from './auth/expired.ts';
import { expiredRecords } from './auth/oauth/records.ts';
import { oldSigningKeys } from './auth/oauth/signing-keys.ts';
import { oldEvents } from './events/old-events.ts';
import type { Job } from './jobs/job.ts';
import { oldResponses } from './operation/idempotency/store.ts';
import type { Config } from './platform/config.ts';

/** All clean-up there is, in the order in which it is done. */
export function cleanUpJobs({ eventRetentionMs, idempotency, environment }: Config): Job[] {
  return [
    oldEvents(eventRetentionMs),
    oldResponses(idempotency.retentionMs),
    expiredSessions,
    oldApiKeys,
    expiredStreamTokens,
    expiredTokens,
    expiredRecords,
    oldSigningKeys(environment === 'production'),
  ];
}
