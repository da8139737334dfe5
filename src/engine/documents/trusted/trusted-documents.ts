import type { GraphQLSchema } from 'graphql';
import { createUseRecorder, type LookUpDatabase, readConnectionFor } from '../../../auth/secrets.ts';
import { storePeriodically } from '../../../platform/async.ts';
import type { Config } from '../../../platform/config/config.ts';
import type { Clock } from '../../../platform/deadline.ts';
import type { Logger } from '../../../platform/log/log.ts';
import type { Metrics } from '../../../platform/metrics/metrics.ts';
import { createDocumentCache } from '../document-cache.ts';
import { createCatalog } from './catalog.ts';
import { createRequestedDocuments } from './requests.ts';
import { createUnpublishedUsage } from './unpublished-usage.ts';

export interface TrustedDocumentsOptions {
  readonly config: Config;
  readonly schema: GraphQLSchema;
  readonly database: LookUpDatabase;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** True if this process is notified immediately when a document is retired. */
  readonly hears: () => boolean;
}

/**
 * Look-ups for all clients share one owner's database slots, because every client can invent ids
 * (decisions/0016-fair-scheduling.md).
 */
const LOOK_UPS = 'published documents';

/** Uses are stored together, because thousands of documents are used for the first time after a start or a release. */
const USES_MS = 1_000;

export function createTrustedDocuments(options: TrustedDocumentsOptions) {
  const { config, schema, database, clock, metrics, log, hears } = options;
  const { introspection, operationLimits: limits, trustedDocuments: policy, credentialRecheckMs } = config;
  const documents = createDocumentCache({ schema, introspection, limits });
  const catalog = createCatalog({
    database: readConnectionFor(database, LOOK_UPS),
    documents,
    hears,
    recheckMs: credentialRecheckMs,
    log,
  });
  const uses = createUnpublishedUsage({ database, metrics, all: policy === 'listed', log });
  const recordUse = createUseRecorder({
    database,
    clock,
    log,
    failure: 'usage.document_store_failed',
    table: 'trusted_documents',
    idType: 'text',
    usedAt: 'last_used_at',
  });
  const used = new Set<string>();
  const closeUses = storePeriodically(USES_MS, async () => {
    for (const id of used) recordUse(id, false);
    used.clear();
  });
  return {
    documents,
    requested: createRequestedDocuments({
      policy,
      documents,
      catalog,
      uses,
      recordUse: (id) => used.add(id),
    }),
    /** Starts a check for documents that were retired. */
    recheck: catalog.recheck,
    async close(): Promise<void> {
      await closeUses();
      catalog.close();
      await uses.close();
    },
  };
}

export type TrustedDocuments = ReturnType<typeof createTrustedDocuments>;
