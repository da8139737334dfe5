import type { GraphQLSchema } from 'graphql';
import { oldApiKeyUses } from '../auth/api-keys.ts';
import { oldAuditEntries } from '../auth/audit.ts';
import { createClientUsage, oldClientUsage } from '../auth/client-usage.ts';
import {
  createAccounts,
  expiredSessions,
  expiredStreamTokens,
  expiredTokens,
  oldApiKeys,
} from '../auth/credentials.ts';
import { endedBlocks } from '../auth/restriction-store.ts';
import { createRestrictions } from '../auth/restrictions.ts';
import { createLongWorkQueue, type Database, type Services } from '../database/database.ts';
import { toDatabaseError } from '../database/errors.ts';
import { type Job, startJobRunner } from '../database/jobs.ts';
import { createListener, type Listener } from '../database/listener.ts';
import { registerDatabaseMetrics, watchClock } from '../database/monitoring.ts';
import {
  CREDENTIALS_CHANNEL,
  DOCUMENTS_CHANNEL,
  EVENTS_CHANNEL,
  RESTRICTIONS_CHANNEL,
} from '../database/session-settings.ts';
import { useLimits } from '../engine/admission.ts';
import { createEngine } from '../engine/create-engine.ts';
import { createDeprecatedUsage, oldDeprecatedUsage } from '../engine/documents/deprecated-usage.ts';
import { oldUnpublishedUsage } from '../engine/documents/trusted/document-store.ts';
import { createTrustedDocuments } from '../engine/documents/trusted/trusted-documents.ts';
import { oldEvents } from '../engine/events/event-log.ts';
import { createEventFeed } from '../engine/events/feed.ts';
import { createEventNotifier, registerEventMetrics, watchLog } from '../engine/events/log-watch.ts';
import { useIdempotency } from '../engine/mutations/idempotency/idempotent-executor.ts';
import { oldResponses } from '../engine/mutations/idempotency/response-store.ts';
import { createCredentialWatch } from '../engine/subscriptions/credential-watch.ts';
import { createFanOut } from '../engine/subscriptions/fan-out.ts';
import { createStreamMetrics } from '../engine/subscriptions/stream-metrics.ts';
import { useEventIds } from '../engine/subscriptions/subscriber.ts';
import { EXPORT_SECTIONS, FEATURES, PASSWORD_CHANGE_REVOCATIONS } from '../features/features.ts';
import { createHttp } from '../http/create-http.ts';
import type { Route } from '../http/exchange.ts';
import { createRejectionLog, createSlowOperations } from '../http/hooks/access-log.ts';
import { createOrigins } from '../http/hooks/request-checks.ts';
import { createInternalOperations } from '../http/internal-operations.ts';
import type { ServicePlugin } from '../http/lifecycle.ts';
import type { DemoKey } from '../http/local-request.ts';
import { createRateLimiter } from '../http/rate-limit/limiter.ts';
import { createBuckets } from '../http/rate-limit/redis-bucket-store.ts';
import { databaseReadiness, registerReadiness } from '../http/routes/health.ts';
import type { YogaPlugin } from '../http/yoga/yoga-host.ts';
import { type Config, ownOrigin } from '../platform/config/config.ts';
import { type Clock, systemClock } from '../platform/deadline.ts';
import { PendingResponses } from '../platform/fairness/response-memory.ts';
import type { Logger } from '../platform/log/log.ts';
import { registerLogMetrics } from '../platform/log/log-output.ts';
import { createMetrics, type Metrics, registerBuildInfo } from '../platform/metrics/metrics.ts';
import { build } from '../platform/process.ts';
import { registerTracing } from '../platform/tracing/open-tracing.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { contentLimits } from '../schema/content-limits.ts';
import { missingSlugs } from '../schema/missing-slugs.ts';
import { buildSchema } from '../schema/schema.ts';
import { createSearchIndexer } from '../schema/search/indexer.ts';
import { YOGA_PLUGINS } from './yoga-plugins.ts';

/** Jobs run in this order. */
export function createJobs(config: Config): Job[] {
  return [
    oldEvents(config.eventRetentionMs),
    oldResponses(config.idempotency.retentionMs),
    expiredSessions,
    oldApiKeys,
    oldApiKeyUses,
    expiredStreamTokens,
    expiredTokens,
    oldUnpublishedUsage,
    oldAuditEntries(config.auditRetentionMs),
    endedBlocks,
    oldClientUsage,
    oldDeprecatedUsage,
    missingSlugs(contentLimits(config)),
    ...FEATURES.flatMap(({ jobs }) => jobs(config)),
  ];
}

function createServiceMetrics({
  config,
  database,
  tracing,
}: Pick<Services, 'config' | 'database' | 'tracing'>): Metrics {
  const metrics = createMetrics();
  registerBuildInfo(metrics, build());
  registerLogMetrics(metrics);
  registerDatabaseMetrics(metrics, database, config);
  registerTracing(metrics, tracing);
  return metrics;
}

/** The key must differ from every other advisory lock key of the database. */
const SEARCH_LOCK = 2_026_113_000;

/**
 * The connection for LISTEN has the lock of the instance that indexes, so the lock ends with the instance. A repeated
 * lock of one session does not wait.
 */
async function isSearchElected({ kind }: Database, { ask }: Listener): Promise<boolean> {
  if (kind === 'embedded') return true;
  const sql = `SELECT pg_try_advisory_lock(${SEARCH_LOCK}) AS mine`;
  try {
    const [row] = (await ask<{ mine: boolean }>(sql)) ?? [];
    return row?.mine === true;
  } catch (error) {
    throw toDatabaseError(error);
  }
}

/** One operation uses at most this many times the maximum response size in memory (contract: pending responses). */
const MAX_PENDING_RESPONSES = 4;
export interface AppOptions {
  readonly config: Config;
  readonly database: Database;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly demoKey?: DemoKey | undefined;
  readonly routes?: readonly Route[];
  /** Root fields read their whole selection in one statement by default. False is for comparison with loaders. */
  readonly lookAhead?: boolean;
  /** Subscribers share identical work by default. False is for comparison. */
  readonly shareEvents?: boolean;
  readonly tracing?: Tracing | undefined;
  /** These plugins run in addition to the service's plugins (docs/contributing/yoga-plugins.md). */
  readonly plugins?: readonly ServicePlugin[];
  /** A plugin in this list makes Yoga handle all requests (docs/contributing/yoga-plugins.md). */
  readonly yogaPlugins?: readonly YogaPlugin[];
  /** A caller may pass another schema for experiments. */
  readonly schema?: GraphQLSchema;
}

const createFeatures = await Promise.all(FEATURES.map(({ server }) => server()));

export function createApp({
  config,
  database,
  log,
  clock: given,
  demoKey,
  routes = [],
  lookAhead = true,
  shareEvents = true,
  schema = buildSchema(contentLimits(config)),
  yogaPlugins = YOGA_PLUGINS,
  plugins = [],
  tracing,
}: AppOptions) {
  const metrics = createServiceMetrics({ config, database, tracing });
  const clockWatch = watchClock(database, given ?? systemClock, metrics, log);
  const clock = given ?? clockWatch.clock;
  // One queue for reading and executing events bounds the statements ahead of a query. A subscriber that waits longer
  // reads more events in one statement.
  const eventQueue = createLongWorkQueue(config, { maxPriorityWaitMs: 0 });
  const feed = createEventFeed({ database, log, queue: eventQueue });
  const buckets = createBuckets(config, { clock, log, metrics });
  const rateLimiter = createRateLimiter({
    store: buckets,
    clock,
    failures: config.authFailureLimit,
    metrics,
  });
  let publicOrigin = config.publicUrl ?? ownOrigin(config);
  const origin = () => publicOrigin;
  const services: Services = { config, database, log, clock, metrics, tracing };
  const features = createFeatures.map((create) => create({ ...services, origin }));
  const accounts = createAccounts({
    ...services,
    jwt: config.jwt,
    strategies: features.flatMap(({ authStrategies }) => authStrategies),
    logins: rateLimiter.logins,
    signUps: rateLimiter.signUps,
  });
  const slowOperations = createSlowOperations(config.slowOperationMs, log);
  const origins = createOrigins(config);
  const pending = new PendingResponses(
    {
      maxBytes: config.maxPendingResponseBytes,
      maxReceivedBytes: MAX_PENDING_RESPONSES * config.maxResponseBytes,
    },
    metrics,
  );
  const readiness = databaseReadiness(database, clock, () => restrictions);
  const streamMetrics = createStreamMetrics(metrics);
  const fanOut = createFanOut({
    feed,
    metrics: streamMetrics,
    use: eventQueue.use,
    maxDistinctSubscriptions: config.maxDistinctSubscriptions,
    maxDistinctSubscriptionBytes: config.maxDistinctSubscriptionBytes,
    tracing,
    log,
  });
  const credentialWatch = createCredentialWatch({
    renew: accounts.credentials.renew,
    recheckMs: config.credentialRecheckMs,
    now: clock.now,
    log,
  });
  const trusted = createTrustedDocuments({
    ...services,
    schema,
    hears: () => listener.hears,
  });
  const restrictions = createRestrictions({
    ...services,
    trustProxy: config.trustProxy,
    recheckMs: config.credentialRecheckMs,
    hears: () => listener.hears,
  });
  const rejections = createRejectionLog(log, metrics, restrictions.blocks);
  const clientUsage = createClientUsage(services);
  const deprecatedUsage = createDeprecatedUsage(services);
  const readers = {
    wake(): void {
      feed.wake();
      searchIndexer.wake();
    },
  };
  const listener = createListener({
    database,
    log,
    channels: [EVENTS_CHANNEL, CREDENTIALS_CHANNEL, DOCUMENTS_CHANNEL, RESTRICTIONS_CHANNEL],
    onNotification({ channel, payload, own }) {
      if (channel === CREDENTIALS_CHANNEL) credentialWatch.recheck(payload);
      else if (channel === DOCUMENTS_CHANNEL) trusted.recheck();
      else if (channel === RESTRICTIONS_CHANNEL) restrictions.recheck();
      // A commit of this process has already woken its readers.
      else if (!own) readers.wake();
    },
    onConnect() {
      readers.wake();
      credentialWatch.recheck();
      trusted.recheck();
      restrictions.recheck();
    },
  });
  const searchIndexer = createSearchIndexer({
    ...{ database, log, metrics },
    isElected: () => isSearchElected(database, listener),
  });
  const eventNotifier = createEventNotifier({ feed: readers, listener, log });
  const logWatch = watchLog({ database, listener, log });
  registerEventMetrics(metrics, { logWatch, listener });
  registerReadiness(metrics, readiness);
  const jobRunner = startJobRunner({ jobs: createJobs(config), database, metrics, log });
  const engine = createEngine({
    ...services,
    ...accounts,
    schema,
    trusted,
    lookAhead,
    feed,
    eventQueue,
    streamMetrics,
    pending,
    checkOrigin: origins.check,
    credentialWatch,
    watchBlocked: restrictions.watch,
    fanOut,
    shareEvents,
    onCommit: eventNotifier.notify,
    origin,
  });
  const operationPlugins = [
    useLimits(engine.limits),
    useIdempotency(engine.idempotency),
    useEventIds(engine.eventIds),
    ...plugins,
  ];
  const pipeline = engine.createPipeline(operationPlugins);
  const routeServices = {
    ...accounts,
    sessions: accounts.credentials.sessions,
    passwordChangeRevocations: PASSWORD_CHANGE_REVOCATIONS,
    limiter: rateLimiter,
    operations: createInternalOperations(schema, pipeline),
    exportSections: EXPORT_SECTIONS,
  };
  const { parts, ...http } = createHttp({
    ...services,
    ...accounts,
    demoKey,
    slowOperations,
    rejections,
    origin,
    origins,
    rateLimiter,
    restrictions,
    clientUsage,
    deprecatedUsage,
    readiness,
    operationPlugins,
    pipeline,
    createPipeline: engine.createPipeline,
    schema,
    yogaPlugins,
    pending,
    featureRoutes: [...routes, ...features.flatMap((feature) => feature.routes(routeServices))],
  });

  const { limits, idempotency, eventIds } = engine;
  return {
    ...http,
    /** Another GraphQL host needs these options of the service's plugins (docs/contributing/yoga-plugins.md). */
    host: { schema, ...parts, limits, idempotency, eventIds },
    pending,
    /** Sets the public origin once the port is known. PUBLIC_URL takes precedence. */
    listensAt(listening: string): void {
      publicOrigin = config.publicUrl ?? listening;
      // The first scrape then finds a result.
      readiness.lastKnown();
      searchIndexer.start();
    },
    /** Makes only `/health/ready` return 503. All other paths work as before. */
    announceShutdown: readiness.leave,
    /** Closes the event streams, so that clients reconnect to another instance or after a restart. */
    endStreams: fanOut.interrupt,
    onCutOff: streamMetrics.cutOff,
    async close(): Promise<void> {
      readiness.leave();
      fanOut.interrupt();
      await jobRunner.stop();
      await searchIndexer.close();
      eventNotifier.close();
      logWatch.close();
      await listener.close();
      await feed.close();
      await buckets.close();
      await http.close();
      await trusted.close();
      restrictions.close();
      clockWatch.close();
      await clientUsage.close();
      await deprecatedUsage.close();
      accounts.securityLog.close();
      slowOperations.close();
      rejections.close();
      await tracing?.close();
    },
  };
}

export type App = ReturnType<typeof createApp>;
