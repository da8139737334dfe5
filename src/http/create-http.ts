import type { AccountTurns } from '../auth/account-write-queue.ts';
import type { ClientUses } from '../auth/client-usage.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { Login } from '../auth/login.ts';
import type { Anonymous } from '../auth/principal.ts';
import type { Restrictions } from '../auth/restrictions.ts';
import type { SecurityLog } from '../auth/security-log.ts';
import type { EndSession } from '../auth/sessions.ts';
import { streamTokenIssuer } from '../auth/stream-tokens.ts';
import type { Database } from '../database/database.ts';
import type { DeprecatedUses } from '../engine/documents/deprecated-usage.ts';
import { graphiqlRoutes } from '../features/graphiql/routes.ts';
import type { Config } from '../platform/config/config.ts';
import type { Clock } from '../platform/deadline.ts';
import type { PendingResponses } from '../platform/fairness/response-memory.ts';
import type { Logger } from '../platform/log/log.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { EXAMPLES } from '../schema/examples.ts';
import type { Route } from './exchange.ts';
import type { Pipeline } from './graphql.ts';
import { createEntrance, type Entrance } from './handler.ts';
import { type Refusals, type SlowOperations, useAccessLog } from './hooks/access-log.ts';
import { useAuthentication } from './hooks/authentication.ts';
import { createCaching } from './hooks/caching.ts';
import { createCompression } from './hooks/compression.ts';
import {
  useCors,
  useOriginReport,
  useResourceMetadata,
  useResponseHeaders,
  useVary,
} from './hooks/headers.ts';
import { createProxyTrust, type ProxyTrust } from './hooks/proxy-trust.ts';
import { useRateLimit } from './hooks/rate-limit.ts';
import { type Origins, useBlocks, useSites, useTurns } from './hooks/request-checks.ts';
import { createRequestTraces, type RequestTraces } from './hooks/tracing.ts';
import { useClientUse, useDeprecations } from './hooks/usage.ts';
import type { HttpPlugin } from './lifecycle.ts';
import type { DemoKey } from './local-request.ts';
import type { RateLimiter } from './rate-limit/limiter.ts';
import { answerLive, type Readiness, readyAnswer } from './routes/health.ts';
import { loginAnswer, logoutAnswer } from './routes/login.ts';
import { metricsAnswer } from './routes/metrics.ts';
import { securityTxtAnswer } from './routes/security-txt.ts';
import { streamTokenAnswer } from './routes/stream-token.ts';
import { coreRoutes, HOME, RESOURCE_METADATA } from './routes/table.ts';
import type { YogaOptions } from './yoga/yoga-host.ts';

export interface HttpOptions {
  readonly config: Config;
  readonly database: Database;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly demoKey: DemoKey | undefined;
  readonly anonymous: Anonymous;
  readonly credentials: Credentials;
  readonly turns: AccountTurns;
  readonly endSession: EndSession;
  readonly login: Login;
  readonly securityLog: SecurityLog;
  readonly slowOperations: SlowOperations;
  readonly refusals: Refusals;
  readonly origins: Origins;
  readonly rateLimiter: RateLimiter;
  readonly restrictions: Restrictions;
  readonly clientUses: Pick<ClientUses, 'note'>;
  readonly deprecatedUses: Pick<DeprecatedUses, 'note'>;
  readonly readiness: Readiness;
  readonly tracing: Tracing | undefined;
  readonly pipeline: Pipeline;
  readonly schema: YogaOptions['schema'];
  readonly yogaPlugins: YogaOptions['plugins'];
  readonly pending: PendingResponses;
  /** The public origin of the service, which is known once it listens. */
  readonly origin: () => string;
  /** The routes of features. */
  readonly featureRoutes: readonly Route[];
}

/** The plugins, in the order in which a request passes them. */
function pluginsOf(options: HttpOptions, trust: ProxyTrust, traces: RequestTraces | undefined): HttpPlugin[] {
  const { config, log, clock, metrics, slowOperations, origins, securityLog, origin } = options;
  const hasMetadata = options.featureRoutes.some(({ path }) => path === RESOURCE_METADATA);
  const cors = { corsOrigins: config.corsOrigins, corsTokenOrigins: config.corsTokenOrigins };
  return [
    trust.useProxyTrust(),
    useCors(cors),
    useVary(cors),
    useResponseHeaders(),
    ...(hasMetadata ? [useResourceMetadata(() => `${origin()}${RESOURCE_METADATA}`)] : []),
    useAccessLog({ clock, log, metrics, slowOperations, refusals: options.refusals }),
    useClientUse(options.clientUses),
    ...(config.environment === 'development' ? [useOriginReport(origins, log)] : []),
    useDeprecations(options.deprecatedUses, metrics),
    useBlocks(options.restrictions, metrics),
    useSites(origins),
    useAuthentication({
      resolvers: options.credentials.resolvers,
      anonymous: options.anonymous,
      isSecure: trust.isSecure,
    }),
    useRateLimit({
      limiter: options.rateLimiter,
      policy: config.rateLimit,
      accountFactor: config.accountLimitFactor,
      limitsOf: options.restrictions.limitsOf,
      isFromKnown: origins.isFromKnown,
      securityLog,
    }),
    useTurns(),
    ...(traces === undefined ? [] : [traces.useTraces()]),
  ];
}

/** The routes of the service. */
function routesOf(options: HttpOptions, { isSecure }: ProxyTrust): Route[] {
  const { config, database, log, metrics, demoKey, credentials, login, securityLog } = options;
  const { pipeline, rateLimiter, featureRoutes, origin, clock } = options;
  const answers = {
    graphql: pipeline.answer,
    streamToken: streamTokenAnswer({
      pipeline,
      issue: streamTokenIssuer(options.turns, credentials.recognizers),
      metrics,
    }),
    login: loginAnswer({
      login,
      database,
      warns: config.environment === 'development',
      maxBodyBytes: config.maxBodyBytes,
      log,
    }),
    logout: logoutAnswer(options.endSession),
    live: answerLive,
    ready: readyAnswer(options.readiness),
    metrics: metricsAnswer({
      metrics,
      token: config.metricsToken,
      isSecure,
      failure: rateLimiter.metricsTokens.failure,
      securityLog,
    }),
    securityTxt: securityTxtAnswer({ contacts: config.securityContacts, origin, clock }),
  };
  const home = featureRoutes.find(({ path }) => path === HOME)?.path;
  const graphiql = config.graphiql ? graphiqlRoutes({ examples: EXAMPLES, home, demoKey }) : undefined;
  return [
    ...Object.values(coreRoutes(answers, graphiql?.page)),
    ...(graphiql === undefined ? [] : [graphiql.assets]),
    ...featureRoutes,
  ];
}

/** Creates everything of HTTP but the socket. */
export function createHttp(options: HttpOptions): Entrance {
  const { config, log, clock, pending, origins } = options;
  const trust = createProxyTrust(config, log);
  const traces = options.tracing && createRequestTraces(options.tracing, trust.isTrustedPeer);
  return createEntrance({
    plugins: pluginsOf(options, trust, traces),
    routes: routesOf(options, trust),
    checkOrigin: origins.check,
    compression: createCompression(),
    caching: createCaching(config.publicCacheSeconds),
    pipeline: options.pipeline,
    schema: options.schema,
    limits: config.operationLimits,
    yogaPlugins: options.yogaPlugins,
    traces,
    pending,
    timeoutMs: config.operationTimeoutMs,
    clock,
    log,
  });
}
