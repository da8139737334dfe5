import { oldAuditEntries } from './audit/entries.ts';
import { oldApiKeyUses } from './auth/api-key/uses.ts';
import { expiredSessions, expiredStreamTokens, expiredTokens, oldApiKeys } from './auth/expired.ts';
import { oldClientUses } from './client-use/client-uses-store.ts';
import { oldDeprecatedUses } from './deprecation/deprecated-uses-store.ts';
import { oldEvents } from './events/old-events.ts';
import { FEATURES } from './features.ts';
import type { Job } from './jobs/job.ts';
import { oldResponses } from './operation/idempotency/store.ts';
import type { Config } from './platform/config.ts';
import { endedBlocks } from './restrictions/address-blocks.ts';
import { oldTextUses } from './trusted-documents/text-uses-store.ts';

/** All clean-up there is, in the order in which it is done. */
export function cleanUpJobs(config: Config): Job[] {
  return [
    oldEvents(config.eventRetentionMs),
    oldResponses(config.idempotency.retentionMs),
    expiredSessions,
    oldApiKeys,
    oldApiKeyUses,
    expiredStreamTokens,
    expiredTokens,
    oldTextUses,
    oldAuditEntries(config.auditRetentionMs),
    endedBlocks,
    oldClientUses,
    oldDeprecatedUses,
    ...FEATURES.flatMap(({ jobs }) => jobs(config)),
  ];
}
