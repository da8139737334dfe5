import type { AccountTurns } from './auth/account/turns.ts';
import type { Credentials } from './auth/credentials.ts';
import type { Anonymous } from './auth/principal.ts';
import type { SecurityLog } from './auth/security-log.ts';
import type { Login } from './auth/session/login.ts';
import type { EndSession } from './auth/session/store.ts';
import { streamTokenIssuer } from './auth/stream-token/store.ts';
import type { ClientUses } from './client-use/client-uses.ts';
import type { DeprecatedUses } from './deprecation/deprecated-uses.ts';
import { graphiqlRoutes } from './http/graphiql/routes.ts';
import { createEntrance, type Entrance } from './http/pipeline/entrance.ts';
import type { Pipeline } from './http/pipeline/pipeline.ts';
import { createRequestTraces, type RequestTraces } from './http/pipeline/request-traces.ts';
import type { YogaOptions } from './http/pipeline/yoga.ts';
import type { HttpPlugin } from './http/plugin.ts';
import type { RateLimiter } from './http/rate-limit/limiter.ts';
import { useRateLimit } from './http/rate-limit/use-rate-limit.ts';
import { createProxyTrust, type ProxyTrust } from './http/request/proxy-trust.ts';
import { useAuthentication } from './http/request/use-authentication.ts';
import { useBlocks, useSites, useTurns } from './http/request/use-checks.ts';
import { createCaching } from './http/response/caching.ts';
import { createCompression } from './http/response/compression.ts';
import { type Refusals, type SlowOperations, useAccessLog } from './http/response/use-access-log.ts';
import { useCors, useOriginReport } from './http/response/use-cors.ts';
import { useClientUse, useDeprecations } from './http/response/use-counts.ts';
import { useResourceMetadata, useResponseHeaders, useVary } from './http/response/use-response-headers.ts';
import { loginAnswer, logoutAnswer } from './http/routes/login.ts';
import { metricsAnswer } from './http/routes/metrics.ts';
import { answerLive, type Readiness, readyAnswer } from './http/routes/readiness.ts';
import { securityTxtAnswer } from './http/routes/security-txt.ts';
import { streamTokenAnswer } from './http/routes/stream-token.ts';
import { coreRoutes, HOME, RESOURCE_METADATA } from './http/routes/table.ts';
import { EXAMPLES } from './modules/examples.ts';
import type { Clock } from './platform/clock.ts';
import type { Config } from './platform/config.ts';
import type { Database } from './platform/db/database.ts';
import type { Logger } from './platform/log.ts';
import type { Metrics } from './platform/metrics.ts';
import type { Tracing } from './platform/tracing/tracing.ts';
import type { DemoKey } from './request/local-request.ts';
import type { Origins } from './request/origin-check.ts';
import type { PendingResponses } from './request/pending-responses.ts';
import type { Route } from './request/request-state.ts';
import type { Restrictions } from './restrictions/restrictions.ts';

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
