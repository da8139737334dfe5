import { createYoga } from 'graphql-yoga';
import packageJson from '../package.json' with { type: 'json' };
import { createCredentials } from './auth/credentials.ts';
import { dropExpiredSessions, dropExpiredTokens } from './auth/expired-credentials.ts';
import { createPasswords } from './auth/password-check.ts';
import { createLogin } from './auth/session/login.ts';
import { revokeSession } from './auth/session/store.ts';
import { createPostFeed } from './events/feed.ts';
import { connectNotifications } from './events/notifications.ts';
import { pruneEvents } from './events/retention.ts';
import { useAccessLog } from './http/access-log.ts';
import { useAuthentication } from './http/authentication.ts';
import { proxyTrust } from './http/client-address.ts';
import { corsFor } from './http/cors.ts';
import { createDocuments } from './http/document.ts';
import { useExecution } from './http/execution.ts';
import { createFront } from './http/front.ts';
import { createGate } from './http/gate.ts';
import { useGraphqlParams } from './http/graphql-params.ts';
import { createIdempotentRunner } from './http/idempotency/idempotent-runner.ts';
import { pruneResponses } from './http/idempotency/store.ts';
import type { SocketFront } from './http/node-server.ts';
import { useOperation } from './http/operation.ts';
import { createOperationLimiter } from './http/operation-limits/cost.ts';
import { PlainResponse } from './http/plain-http.ts';
import { createRateLimiter } from './http/rate-limit/limiter.ts';
import { redisBuckets } from './http/rate-limit/redis-store.ts';
import { memoryBuckets } from './http/rate-limit/store.ts';
import { useRateLimit } from './http/rate-limit.ts';
import { useRequestId } from './http/request-id.ts';
import type { HttpPlugin } from './http/request-state.ts';
import {
  type NewRequest,
  newRequestState,
  type OperationContext,
  type ServerContext,
} from './http/request-state.ts';
import { createResponder, useResponse } from './http/respond.ts';
import { useResponseHeaders } from './http/response-headers.ts';
import { useGraphiqlPage } from './http/routes/graphiql.ts';
import { useHealth } from './http/routes/health.ts';
import { LOGIN_PATH, useLogin } from './http/routes/login.ts';
import { useLogout } from './http/routes/logout.ts';
import { useMetricsRoute } from './http/routes/metrics.ts';
import { createRunner } from './http/runner.ts';
import { createOriginCheck } from './http/same-origin.ts';
import { createStreamExpiry } from './http/stream-expiry.ts';
import { createStreamLimit } from './http/stream-limit.ts';
import { createStreamMetrics } from './http/stream-metrics.ts';
import { createSubscriber, openEvents } from './http/subscription.ts';
import { type Clock, systemClock } from './platform/clock.ts';
import type { Config } from './platform/config.ts';
import type { Database } from './platform/db/database.ts';
import { pendingMigrations } from './platform/db/migrate.ts';
import { keepHouse } from './platform/housekeeping.ts';
import type { Logger } from './platform/log.ts';
import { createMetrics } from './platform/metrics.ts';
import { buildSchema } from './schema.ts';

const ENDPOINT = '/graphql';
/** Contract section 5: each hash takes 19 MiB and a core for tens of milliseconds. The line is a second long. */
const PASSWORD_HASHES = { atATime: 2, waiting: 32 };

export interface AppOptions {
  readonly config: Config;
  readonly database: Database;
  readonly log: Logger;
  readonly clock?: Clock;
  /** The key that GraphiQL fills in. */
  readonly demoKey?: string | undefined;
  /** Whether root fields read their whole selection at once. Off it is all loaders, to compare the two. */
  readonly lookAhead?: boolean;
}

/** The service without a socket. */
export interface App {
  /** Answers a request of the Fetch API. */
  fetch(request: Request): Promise<Response>;
  /** The short way for plain JSON POSTs from a socket. */
  readonly front: SocketFront;
  /** The same with what the socket knows: who is at its other end, and what was wrong with the request already. */
  handle(request: Request, arrival: Omit<NewRequest, 'nowMs'>): Promise<Response>;
  /** Turns `/health/ready` to 503; everything else goes on. */
  announceShutdown(): void;
  /** Ends the event streams so that their clients come back, to another instance or a later one. */
  endStreams(): void;
  /** Counts a stream whose reader was too slow. */
  onCutOff(): void;
  close(): Promise<void>;
}

/** Makes every dependency and wires the plugins in the order in which a request meets them. */
export function createApp({
  config,
  database,
  log,
  clock = systemClock,
  demoKey,
  lookAhead = true,
}: AppOptions): App {
  const metrics = createMetrics();
  const schema = buildSchema();
  const feed = createPostFeed({ database, log });
  const shutdown = new AbortController();
  const limits = config.operationLimits;
  const buckets =
    config.redisUrl === undefined
      ? memoryBuckets(clock)
      : redisBuckets({ url: config.redisUrl, clock, log, metrics });
  const rateLimiter = createRateLimiter({ store: buckets, clock, failures: config.failureLimit });
  const credentials = createCredentials({ config, database, clock, log });
  const passwords = createPasswords(
    createGate(PASSWORD_HASHES.atATime, PASSWORD_HASHES.waiting),
    rateLimiter,
  );
  const checkOrigin = createOriginCheck(config);
  const untilExpiry = createStreamExpiry({
    stillValid: credentials.stillValid,
    recheckMs: config.credentialRecheckMs,
    now: clock.now,
    log,
  });
  const gate = createGate(config.maxConcurrentOperations, config.maxQueuedOperations);
  const streams = createStreamLimit(config.maxStreams);
  const streamMetrics = createStreamMetrics(metrics);
  const notifications = connectNotifications({ database, log, onWake: feed.wake });
  const ago = (ms: number) => new Date(clock.now() - ms);
  const house = keepHouse(
    [
      { name: 'events', run: () => pruneEvents(database, ago(config.eventRetentionMs)) },
      { name: 'idempotency keys', run: () => pruneResponses(database, ago(config.idempotencyRetentionMs)) },
      { name: 'expired sessions', run: () => dropExpiredSessions(database, ago(0)) },
      { name: 'expired blocklist entries', run: () => dropExpiredTokens(database, ago(0)) },
    ],
    log,
  );
  const onCommit = () => {
    feed.wake();
    notifications.announce();
  };
  const runner = createRunner({ database, log, gate, timeoutMs: config.operationTimeoutMs, onCommit });
  const execute = createIdempotentRunner({
    runner,
    database,
    clock,
    log,
    retentionMs: config.idempotencyRetentionMs,
    limits,
  });
  metrics.gauge('graphql_operations_running', 'Operations that run right now.', () => gate.inside);
  metrics.gauge('graphql_operations_waiting', 'Operations that wait for others to end.', () => gate.waiting);
  metrics.gauge('event_streams_open', 'Event streams that are open.', () => streams.total);
  let leaving = false;
  let migrated = false;

  async function problem(): Promise<string | undefined> {
    if (leaving) return 'shutting down';
    const pending = await pendingMigrations(database);
    if (!migrated && pending.length > 0) return `migrations are pending: ${pending.join(', ')}`;
    migrated = true;
    return undefined;
  }

  const respond = createResponder({ log, limits });
  const plugins: HttpPlugin[] = [
    useRequestId(),
    useResponseHeaders(),
    useAccessLog({ clock, log, metrics }),
    useHealth({ version: packageJson.version, problem, log }),
    useMetricsRoute({ metrics, token: config.metricsToken, log }),
    ...(config.graphiql ? [useGraphiqlPage({ path: ENDPOINT, endpoint: ENDPOINT, demoKey })] : []),
    useAuthentication({
      resolvers: credentials.resolvers,
      anonymousScopes: config.anonymousRead ? ['posts:read'] : [],
      isTrustedProxy: proxyTrust(config.trustProxy),
      requireTls: config.environment === 'production',
      ignoredOn: new Set([LOGIN_PATH]),
      log,
    }),
    useRateLimit({
      limiter: rateLimiter,
      policy: config.rateLimit,
      metrics,
      log,
    }),
    useLogin({
      login: createLogin({ database, passwords, clock }),
      maxBodyBytes: config.maxBodyBytes,
      log,
    }),
    useLogout({
      endSession: (id, userId) => revokeSession(database.prisma, id, userId),
      checkOrigin,
      log,
    }),
    useGraphqlParams({ path: ENDPOINT, maxBodyBytes: config.maxBodyBytes, log }),
    useOperation({
      documents: createDocuments({
        schema,
        introspection: config.introspection,
        limits,
      }),
      limiter: createOperationLimiter(schema, limits),
      checkOrigin,
    }),
    useExecution({
      execute,
      subscribe: createSubscriber({ runner, streams, metrics: streamMetrics, untilExpiry, log }),
    }),
    useResponse(respond),
  ];
  const yoga = createYoga<ServerContext>({
    schema,
    graphqlEndpoint: ENDPOINT,
    logging: false,
    maskedErrors: false,
    graphiql: false,
    landingPage: false,
    multipart: false,
    maxRequestBodySize: false,
    parserAndValidationCache: false,
    healthCheckEndpoint: '/health/live/yoga',
    cors: corsFor(config.corsOrigins),
    context: (initial) => {
      const context = initial as unknown as OperationContext;
      const { requestId, caller } = context.state;
      return {
        requestId,
        caller,
        db: database,
        lookAhead,
        unitOfWork: undefined,
        passwords,
        events: () => openEvents(feed, context, shutdown.signal),
      };
    },
    plugins,
  });

  const front = createFront({ yoga, plugins, respond, path: ENDPOINT, log });

  return {
    async fetch(request) {
      const state = newRequestState({ nowMs: clock.now() });
      const fields = Object.fromEntries(request.headers);
      const { pathname, search } = new URL(request.url);
      if (!front.takes(request.method, pathname + search, fields))
        return yoga.handleRequest(request, { state });
      const response = await front.answer(fields, new Uint8Array(await request.arrayBuffer()), state);
      return response instanceof PlainResponse
        ? new Response(response.text, { status: response.status, headers: [...response.headers] })
        : response;
    },
    front: {
      takes: front.takes,
      answer: async (fields, body, arrival) =>
        front.answer(fields, body, newRequestState({ nowMs: clock.now(), ...arrival })),
    },
    handle: async (request, arrival) =>
      yoga.handleRequest(request, { state: newRequestState({ nowMs: clock.now(), ...arrival }) }),
    announceShutdown() {
      leaving = true;
    },
    endStreams: () => shutdown.abort(),
    onCutOff: streamMetrics.cutOff,
    async close() {
      leaving = true;
      shutdown.abort();
      await house.stop();
      await notifications.close();
      await feed.close();
      await buckets.close();
      await yoga.dispose();
    },
  };
}
