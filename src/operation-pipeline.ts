import type { GraphQLSchema } from 'graphql';
import type { Credentials } from './auth/credentials.ts';
import type { Passwords } from './auth/password-check.ts';
import type { Anonymous, Caller } from './auth/principal.ts';
import type { PostFeed } from './events/feed.ts';
import type { AnswerPath } from './graphql/context.ts';
import { createPipeline, type Pipeline } from './http/pipeline/pipeline.ts';
import { createResponder } from './http/response/responder.ts';
import { createOperationCheck } from './operation/admission.ts';
import { createAccountCheck } from './operation/anonymous-access.ts';
import { createGate, type Gate } from './operation/concurrency-limiter.ts';
import { createDocuments } from './operation/document-cache.ts';
import { createRunner } from './operation/executor.ts';
import { createIdempotentRunner } from './operation/idempotency/idempotent-executor.ts';
import { createReplayCheck } from './operation/idempotency/replay-check.ts';
import { createOperationLimiter } from './operation/operation-cost.ts';
import { createAskedFields } from './operation/requested-fields.ts';
import { createAnswerBounds } from './operation/response-bounds.ts';
import { createHalfOpenWatch } from './operation/subscription/half-open.ts';
import { createStreamExpiry } from './operation/subscription/stream-expiry.ts';
import { createStreamLimit } from './operation/subscription/stream-limit.ts';
import type { StreamMetrics } from './operation/subscription/stream-metrics.ts';
import { createSubscriber, openEvents } from './operation/subscription/subscriber.ts';
import type { Clock } from './platform/clock.ts';
import type { Config } from './platform/config.ts';
import type { Database } from './platform/db/database.ts';
import type { Logger } from './platform/log.ts';
import type { Metrics } from './platform/metrics.ts';
import type { OriginCheck } from './request/origin-check.ts';
import type { PendingResponses } from './request/pending-responses.ts';

export interface OperationsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly schema: GraphQLSchema;
  readonly anonymous: Anonymous;
  readonly lookAhead: boolean;
  readonly passwords: Passwords;
  readonly feed: PostFeed;
  /** What reads for event streams, and executes events, passes it. */
  readonly eventGate: Gate;
  readonly streamMetrics: StreamMetrics;
  readonly pending: PendingResponses;
  readonly checkOrigin: OriginCheck;
  readonly stillValid: Credentials['stillValid'];
  /** Ends the event streams. */
  readonly shutdown: AbortSignal;
  readonly onCommit: () => void;
}

/** So many transactions of mutations at a time: half of the database's connections, so that reads always have the others. */
const writePlaces = ({ database }: Config) =>
  database.kind === 'postgres' ? Math.max(1, Math.floor(database.poolSize / 2)) : 1;

/** Makes what runs operations, within the limits that the settings give. */
export function createOperations(options: OperationsOptions): Pipeline {
  const { config, database, log, clock, metrics, schema, anonymous, lookAhead, passwords, feed } = options;
  const { eventGate, streamMetrics, pending, checkOrigin, stillValid, shutdown, onCommit } = options;
  const { maxResponseBytes } = config;
  const limits = config.operationLimits;
  const askedFields = createAskedFields(schema);
  const gate = createGate(config.maxConcurrentOperations, config.maxQueuedOperations, database.recentUse);
  const writeGate = createGate(writePlaces(config), config.maxQueuedOperations, database.recentUse);
  const halfOpen = createHalfOpenWatch({ log, onEnd: streamMetrics.cutOff });
  const streams = createStreamLimit({
    maximum: config.maxStreams,
    accountFactor: config.accountLimitFactor,
    halfOpen,
  });
  metrics.gauge('graphql_operations_running', 'Operations that run right now.', () => gate.inside);
  metrics.gauge(
    'graphql_transactions_running',
    'Transactions of mutations that run right now.',
    () => writeGate.inside,
  );
  metrics.gauge(
    'graphql_transactions_waiting',
    'Mutations that wait for others to end theirs.',
    () => writeGate.waiting,
  );
  metrics.gauge('graphql_operations_waiting', 'Operations that wait for others to end.', () => gate.waiting);
  metrics.gauge(
    'event_executions_running',
    'Events that are executed for a stream right now.',
    () => eventGate.inside,
  );
  metrics.gauge('event_executions_waiting', 'Those that wait for others to end.', () => eventGate.waiting);
  metrics.gauge('event_streams_open', 'Event streams that are open.', () => streams.total);
  const paths = metrics.counter(
    'graphql_paths_total',
    'How often each way to an answer was taken: requests on the fast path, whole answers, mutations of one statement, root fields read ahead, root fields left to loaders.',
    ['path'],
  );
  const onPath = (path: AnswerPath) => paths.inc({ path });
  const runner = createRunner({
    database,
    log,
    gate,
    eventGate,
    writeGate,
    timeoutMs: config.operationTimeoutMs,
    lockWaitMs: config.statementTimeoutMs,
    bounds: createAnswerBounds({ pending, maxResponseBytes, limits }),
    onCommit,
  });
  const openLease = createStreamExpiry({
    stillValid,
    recheckMs: config.credentialRecheckMs,
    now: clock.now,
    log,
  });
  return createPipeline({
    schema,
    check: createOperationCheck({
      documents: createDocuments({ schema, introspection: config.introspection, limits }),
      limiter: createOperationLimiter(schema, limits),
      needsAccount: createAccountCheck(askedFields, anonymous),
      checkOrigin,
    }),
    contextOf(operation, request, state) {
      const { requestId, caller } = state;
      return {
        request,
        state,
        operation,
        requestId,
        caller: caller as Caller,
        db: database,
        plans: operation.plans,
        lookAhead,
        maxResponseBytes,
        onPath,
        unitOfWork: undefined,
        passwords,
        events: () => openEvents(feed, request, state, shutdown),
      };
    },
    execute: createIdempotentRunner({
      runner,
      database,
      log,
      retentionMs: config.idempotencyRetentionMs,
      limits,
      maxResponseBytes,
      replayCheck: createReplayCheck(askedFields),
    }),
    subscribe: createSubscriber({
      runner,
      eventGate,
      streams,
      metrics: streamMetrics,
      openLease,
      shutdown,
      log,
    }),
    respond: createResponder(limits),
    maxBodyBytes: config.maxBodyBytes,
    log,
  });
}
