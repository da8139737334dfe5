import type { GraphQLSchema } from 'graphql';
import type { Accounts } from '../auth/credentials.ts';
import { isAuthenticated } from '../auth/principal.ts';
import { createTransactionQueue, type Services } from '../database/database.ts';
import { secretKeyOf } from '../database/embedded/data-dir.ts';
import { createPipeline, type Pipeline } from '../http/graphql.ts';
import type { OriginCheck } from '../http/hooks/request-checks.ts';
import { STREAM_FORMATS } from '../http/response/event-stream-formats.ts';
import { createResponder } from '../http/response/responder.ts';
import { ApiError } from '../platform/errors.ts';
import { FairQueue } from '../platform/fairness/fair-queue.ts';
import type { PendingResponses } from '../platform/fairness/response-memory.ts';
import type { Logger } from '../platform/log/log.ts';
import { createAdmission } from './admission.ts';
import { createOperationLimiter } from './documents/limits.ts';
import type { TrustedDocuments } from './documents/trusted/trusted-documents.ts';
import type { EventFeed } from './events/feed.ts';
import { createExecutor, limitTime, registerOperationMetrics } from './executor.ts';
import { createKeyOutcomes, type IdempotencyOptions } from './mutations/idempotency/idempotent-executor.ts';
import { createReplayCheck } from './mutations/idempotency/replay-check.ts';
import { createResponseEncryption } from './mutations/idempotency/response-store.ts';
import { withMutationFields } from './mutations/mutation-fields.ts';
import {
  composeAdmit,
  composeExecute,
  composeSubscribe,
  type Execute,
  type OperationPlugin,
  type Subscribe,
} from './operation/lifecycle.ts';
import { contextOf } from './operation/operation-context.ts';
import { rejected } from './operation/outcome.ts';
import { createResponseBounds } from './operation/response-bounds.ts';
import type { CredentialWatch } from './subscriptions/credential-watch.ts';
import { createEventRenderers, createSubscriptionArgs } from './subscriptions/event-responses.ts';
import { type FanOut, registerFanOutMetrics } from './subscriptions/fan-out.ts';
import { createHalfOpenWatch, createStreamLimit } from './subscriptions/stream-limit.ts';
import type { StreamMetrics } from './subscriptions/stream-metrics.ts';
import { type EventIdOptions, openEvents } from './subscriptions/subscriber.ts';

export interface EngineOptions extends Services, Pick<Accounts, 'passwords' | 'securityLog'> {
  readonly schema: GraphQLSchema;
  readonly trusted: Pick<TrustedDocuments, 'documents' | 'requested'>;
  readonly lookAhead: boolean;
  readonly feed: EventFeed;
  readonly eventQueue: FairQueue;
  readonly streamMetrics: StreamMetrics;
  readonly pending: PendingResponses;
  readonly checkOrigin: OriginCheck;
  readonly credentialWatch: CredentialWatch;
  readonly watchBlocked: EventIdOptions['watchBlocked'];
  readonly fanOut: FanOut;
  /** True if subscribers with equal responses share one execution. */
  readonly shareEvents: boolean;
  readonly onCommit: () => void;
  /** The public origin is known once the server listens. */
  readonly origin: () => string;
}

/** Without the idempotency plugin no response is stored, so a retry with the key would run the mutation again. */
const withoutKeys =
  (run: Execute, log: Logger): Execute =>
  (args) => {
    const { request, caller, operation, requestId } = args.contextValue;
    if (operation.kind !== 'mutation' || !request.headers.has('idempotency-key') || !isAuthenticated(caller))
      return run(args);
    const error = new ApiError(
      'BAD_REQUEST',
      'This endpoint does not support Idempotency-Key. Remove the header.',
      {
        status: 400,
      },
    );
    return Promise.resolve(rejected(error, { requestId, log }));
  };

const rejectSubscription: Subscribe = () =>
  Promise.reject(
    new ApiError('BAD_REQUEST', 'This endpoint does not support subscriptions. Send a query or a mutation.', {
      status: 400,
    }),
  );

export function createEngine(options: EngineOptions) {
  const { config, database, log, metrics, schema, lookAhead, passwords, securityLog, feed } = options;
  const { eventQueue, streamMetrics, pending, checkOrigin, fanOut, shareEvents, onCommit } = options;
  const { maxResponseBytes } = config;
  const { documents, requested } = options.trusted;
  const limits = config.operationLimits;
  const limiter = createOperationLimiter(schema, limits);
  const { requestedFields } = limiter;
  // The owner that has used the database least gets the next slot.
  const waiting = { maxWaiting: config.maxQueuedOperations, use: database.queue.use };
  const queue = new FairQueue({ concurrency: config.maxConcurrentOperations, ...waiting });
  const writeQueue = createTransactionQueue(config, waiting);
  const halfOpen = createHalfOpenWatch({ log, onEnd: streamMetrics.cutOff });
  const streams = createStreamLimit({
    maximum: config.maxStreamsPerClient,
    accountFactor: config.accountRateLimitFactor,
    halfOpen,
  });
  registerOperationMetrics(metrics, { queue, writeQueue, eventQueue });
  registerFanOutMetrics(metrics, fanOut, streams);
  const paths = metrics.fastCounter(
    'content_graph_graphql_execution_paths_total',
    'Execution paths of operations: fast_path, database_response, single_statement, loaders.',
    ['path'],
  );
  const executor = createExecutor({
    database,
    log,
    securityLog,
    queue,
    eventQueue,
    writeQueue,
    passwords,
    timeoutMs: config.operationTimeoutMs,
    lockWaitMs: config.statementTimeoutMs,
    maxQueued: config.maxQueuedOperations,
    bounds: createResponseBounds({ pending, maxResponseBytes, limits }),
    onCommit,
  });
  const idempotency: IdempotencyOptions = {
    executor,
    database,
    log,
    retentionMs: config.idempotency.retentionMs,
    responseEncryption: createResponseEncryption(secretKeyOf(config), config.secretKeyPrevious),
    maxBytes: config.idempotency.maxBytes,
    limits,
    maxResponseBytes,
    replayCheck: createReplayCheck(requestedFields),
    outcomes: createKeyOutcomes(metrics),
  };
  const eventsAfter = openEvents(feed);
  const inTime = limitTime(config.operationTimeoutMs);
  const eventIds: EventIdOptions = {
    fanOut,
    createRenderer: createEventRenderers({ executor, limits, shared: shareEvents, log }),
    subscriptionArgs: createSubscriptionArgs(documents, eventsAfter),
    streams,
    credentials: options.credentialWatch,
    watchPublished: requested.watch,
    watchBlocked: options.watchBlocked,
    metrics: streamMetrics,
    formats: STREAM_FORMATS,
    limits,
    inTime,
    log,
  };
  return {
    limits: limiter,
    idempotency,
    eventIds,
    createPipeline: (plugins: readonly OperationPlugin[]): Pipeline =>
      createPipeline({
        schema,
        requested,
        parseDocument: documents.parse,
        check: createAdmission({ documents, limiter, checkOrigin, admit: composeAdmit(plugins) }),
        contextOf: contextOf({
          origin: options.origin,
          db: database,
          paths,
          traced: log.writesDebug,
          lookAhead,
          maxResponseBytes,
          eventsAfter,
          idOfSnapshot: feed.idOf,
        }),
        execute: withMutationFields(plugins, composeExecute(plugins, withoutKeys(executor.run, log)), log),
        subscribe: composeSubscribe(plugins, rejectSubscription),
        inTime,
        respond: createResponder(limits),
        maxBodyBytes: config.maxBodyBytes,
        log,
      }),
  };
}

export type Engine = ReturnType<typeof createEngine>;
