import type { GraphQLSchema } from 'graphql';
import packageJson from '../package.json' with { type: 'json' };
import { createCredentials } from './auth/credentials.ts';
import { createAuthority } from './auth/oauth/authority.ts';
import { createPasswords } from './auth/password-check.ts';
import { anonymousCaller } from './auth/principal.ts';
import { createLogin } from './auth/session/login.ts';
import { ownerOf } from './auth/session/owner.ts';
import { revokeSession } from './auth/session/store.ts';
import { issueStreamToken } from './auth/stream-token/store.ts';
import { backgroundJobs } from './background-jobs.ts';
import { createPostFeed } from './events/feed.ts';
import { connectNotifications } from './events/notifications.ts';
import { useGraphiql } from './http/graphiql/use-graphiql.ts';
import { createOAuth } from './http/oauth/oauth.ts';
import { useOAuthErrors } from './http/oauth/plugin.ts';
import { createFastPath } from './http/pipeline/fast-path.ts';
import { useGraphqlPath } from './http/pipeline/graphql-params.ts';
import { createYogaServer } from './http/pipeline/yoga.ts';
import type { HttpPlugin } from './http/plugin.ts';
import { createRateLimiter } from './http/rate-limit/limiter.ts';
import { redisBuckets } from './http/rate-limit/redis-store.ts';
import { memoryBuckets } from './http/rate-limit/store.ts';
import { useRateLimit } from './http/rate-limit/use-rate-limit.ts';
import { useAuthentication } from './http/request/use-authentication.ts';
import { createTransport } from './http/request/use-proxy-trust.ts';
import { useRequestId } from './http/request/use-request-id.ts';
import { useWellFormed } from './http/request/use-well-formed.ts';
import { useAccessLog } from './http/response/use-access-log.ts';
import { useDeprecationReport } from './http/response/use-deprecation-report.ts';
import { useOriginReport } from './http/response/use-origin-report.ts';
import { useResponseHeaders } from './http/response/use-response-headers.ts';
import { developmentPages } from './http/routes/development.ts';
import { useHealth } from './http/routes/health.ts';
import { useLogin } from './http/routes/login.ts';
import { useLogout } from './http/routes/logout.ts';
import { useMetricsRoute } from './http/routes/metrics.ts';
import { createReadiness } from './http/routes/readiness.ts';
import { useStreamTokens } from './http/routes/stream-token.ts';
import type { SocketFastPath } from './http/server/node-server.ts';
import { createConcurrencyLimiter, limitedBy } from './operation/concurrency-limiter.ts';
import { createFanOut } from './operation/subscription/fan-out.ts';
import { createStreamMetrics } from './operation/subscription/stream-metrics.ts';
import { createOperationPipeline } from './operation-pipeline.ts';
import { type Clock, systemClock } from './platform/clock.ts';
import { type Config, ownOrigin } from './platform/config.ts';
import type { Database } from './platform/db/database.ts';
import { pendingMigrations } from './platform/db/migrate.ts';
import { startBackgroundJobs } from './platform/job-runner.ts';
import type { Logger } from './platform/log.ts';
import { createMetrics } from './platform/metrics.ts';
import { departureOf } from './request/departure.ts';
import { asResponse } from './request/http-message.ts';
import { createOrigins } from './request/origin-check.ts';
import { PendingResponses } from './request/pending-responses.ts';
import { type Arrival, newRequestState } from './request/request-state.ts';
import { buildSchema } from './schema.ts';

const ENDPOINT = '/graphql';
/** Contract section 5: one operation holds at most this many times the maximum response size in memory. */
const MAX_HELD_ANSWERS = 4;
/** Contract section 5: a hash takes 19 MiB and a core for tens of ms. A full queue takes about a second. */
const PASSWORD_HASHES = { atATime: 2, waiting: 32 };
/** Connections that issuing stream tokens may hold. The rest are for operations. */
const TOKENS_ISSUED = { atATime: 2, waiting: 256 };

/**
 * Reading and executing events uses at most half of the database connections, however many subscribers there
 * are. That bounds the number of statements ahead of a query.
 */
const eventPlaces = ({ database }: Config) =>
  database.kind === 'postgres' ? Math.max(1, Math.floor(database.poolSize / 2)) : 1;

export interface AppOptions {
  readonly config: Config;
  readonly database: Database;
  readonly log: Logger;
  readonly clock?: Clock;
  /** The API key that GraphiQL fills in. */
  readonly demoKey?: string | undefined;
  /** Whether root fields read their whole selection at once. Turn off to compare with loaders only. */
  readonly lookAhead?: boolean;
  /** Whether subscribers share what is the same for them. Turn off to compare. */
  readonly shareEvents?: boolean;
  /** The schema to serve; another one can be tried out. */
  readonly schema?: GraphQLSchema;
}

/** The service without a socket. */
export interface App {
  /** Answers a Fetch API request on the same path as a request from a socket. */
  fetch(request: Request, arrival?: Arrival): Promise<Response>;
  /** The responses that sockets have not yet sent. */
  readonly pending: PendingResponses;
  /** Answers plain requests from a socket. */
  readonly fastPath: SocketFastPath;
  /** Answers through Yoga a request that the fast path does not take. */
  handle(request: Request, arrival: Arrival): Promise<Response>;
  /** Sets the origin once the port is known. PUBLIC_URL takes precedence. */
  listensAt(origin: string): void;
  /** Makes `/health/ready` return 503. Everything else continues. */
  announceShutdown(): void;
  /** Ends the event streams, so that clients reconnect to another instance or after a restart. */
  endStreams(): void;
  /** Counts a stream that was cut off because its reader was too slow. */
  onCutOff(): void;
  close(): Promise<void>;
}

/** Creates every dependency and lists the plugins in the order in which a request passes them. */
export function createApp({
  config,
  database,
  log,
  clock = systemClock,
  demoKey,
  lookAhead = true,
  shareEvents = true,
  schema = buildSchema(),
}: AppOptions): App {
  const metrics = createMetrics();
  const eventLimiter = createConcurrencyLimiter(eventPlaces(config), Number.POSITIVE_INFINITY);
  const feed = createPostFeed({ database, log, limitedBy: limitedBy(eventLimiter) });
  const buckets =
    config.redisUrl === undefined
      ? memoryBuckets(clock)
      : redisBuckets({ url: config.redisUrl, clock, log, metrics });
  const rateLimiter = createRateLimiter({ store: buckets, clock, failures: config.failureLimit });
  let origin = config.publicUrl ?? ownOrigin(config);
  const authority = createAuthority({ config, database, clock, log });
  const credentials = createCredentials({ config, database, clock, log, ownTokens: authority.ownTokens });
  const passwords = createPasswords(
    createConcurrencyLimiter(PASSWORD_HASHES.atATime, PASSWORD_HASHES.waiting),
    rateLimiter.logins,
  );
  const login = createLogin({ database, passwords });
  const issuing = limitedBy(createConcurrencyLimiter(TOKENS_ISSUED.atATime, TOKENS_ISSUED.waiting));
  const origins = createOrigins(config);
  const checkOrigin = origins.check;
  const development = config.environment === 'development';
  const pending = new PendingResponses(
    {
      maxBytes: config.maxPendingResponseBytes,
      maxReceivedBytes: MAX_HELD_ANSWERS * config.maxResponseBytes,
    },
    metrics,
  );
  const readiness = createReadiness({
    pendingMigrations: () => pendingMigrations(database),
    clock,
    log,
  });
  const streamMetrics = createStreamMetrics(metrics);
  const fanOut = createFanOut({ feed, metrics: streamMetrics, maxGroups: config.maxEventGroups, log });
  const notifications = connectNotifications({ database, log, onWake: feed.wake });
  const jobs = startBackgroundJobs(backgroundJobs(config, database), log);
  const anonymous = anonymousCaller(config);
  const pipeline = createOperationPipeline({
    config,
    database,
    log,
    clock,
    metrics,
    schema,
    anonymous,
    lookAhead,
    passwords,
    feed,
    eventLimiter,
    streamMetrics,
    pending,
    checkOrigin,
    renew: credentials.renew,
    fanOut,
    shareEvents,
    onCommit() {
      feed.wake();
      notifications.announce();
    },
  });
  const transport = createTransport(config, log);
  const plugins: HttpPlugin[] = [
    useRequestId(),
    transport.useProxyTrust(),
    useOAuthErrors(),
    useResponseHeaders({ variesByOrigin: config.corsOrigins.length > 0 }),
    useAccessLog({ clock, log, metrics }),
    ...(development ? [useOriginReport(origins, log)] : []),
    useWellFormed(log),
    useDeprecationReport(metrics),
    useHealth({ version: packageJson.version, problem: readiness.problem, log }),
    useMetricsRoute({ metrics, token: config.metricsToken, isSecure: transport.isSecure, clock, log }),
    ...(development ? developmentPages({ endpoint: ENDPOINT, graphiql: config.graphiql, demoKey }) : []),
    ...(config.graphiql
      ? [useGraphiql({ endpoint: ENDPOINT, home: development ? '/' : undefined, demoKey })]
      : []),
    useAuthentication({
      recognizers: credentials.recognizers,
      streamPath: ENDPOINT,
      anonymous,
      isSecure: transport.isSecure,
      log,
    }),
    useRateLimit({
      limiter: rateLimiter,
      policy: config.rateLimit,
      accountFactor: config.accountLimitFactor,
      metrics,
      log,
    }),
    useLogin({
      login,
      ownerOf: (session) => ownerOf(database, session),
      warns: development,
      maxBodyBytes: config.maxBodyBytes,
      checkOrigin,
      log,
    }),
    useLogout({
      endSession: (id, userId) => revokeSession(database.prisma, id, userId),
      checkOrigin,
      log,
    }),
    useStreamTokens({
      pipeline,
      issue: (principal, operation) => issuing(() => issueStreamToken(database, principal, operation)),
      checkOrigin,
      metrics,
      log,
    }),
    createOAuth({
      issuer: () => origin,
      authority,
      sessions: credentials.sessions,
      login,
      checkOrigin,
      limiter: rateLimiter,
      policy: config.rateLimit,
      database,
      log,
    }),
    useGraphqlPath(ENDPOINT, log),
  ];
  const { corsOrigins } = config;
  const yoga = createYogaServer({ schema, endpoint: ENDPOINT, plugins, pipeline, corsOrigins });
  const fastPath = createFastPath({ plugins, pipeline, path: ENDPOINT, corsOrigins, log });

  const arrived = (arrival: Arrival = {}) =>
    newRequestState({ nowMs: clock.now(), ...arrival, hold: arrival.hold ?? pending.hold() });

  return {
    pending,
    async fetch(request, arrival) {
      const state = arrived({ departure: departureOf(request.signal), ...arrival });
      const { host, pathname, search } = new URL(request.url);
      const fields = { host, ...Object.fromEntries(request.headers) };
      try {
        if (!fastPath.takes(request.method, pathname + search, fields)) {
          const response = await yoga.handleRequest(request, { state });
          // A response to HEAD has no body (RFC 9110 section 9.3.2).
          return request.method === 'HEAD' ? new Response(null, response) : response;
        }
        const body = new Uint8Array(await request.arrayBuffer());
        const response = await fastPath.answer(
          { method: request.method, target: pathname + search, fields, body },
          state,
        );
        return asResponse(response);
      } finally {
        state.hold.release();
      }
    },
    fastPath: {
      takes: fastPath.takes,
      answer: async (plain, arrival) => fastPath.answer(plain, arrived(arrival)),
    },
    handle: async (request, arrival) =>
      yoga.handleRequest(request, { state: arrived({ departure: departureOf(request.signal), ...arrival }) }),
    listensAt(listening) {
      origin = config.publicUrl ?? listening;
    },
    announceShutdown: readiness.leave,
    endStreams: fanOut.interrupt,
    onCutOff: streamMetrics.cutOff,
    async close() {
      readiness.leave();
      fanOut.interrupt();
      await jobs.stop();
      await notifications.close();
      await feed.close();
      await buckets.close();
      await yoga.dispose();
    },
  };
}
