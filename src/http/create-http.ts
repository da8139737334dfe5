import type { ClientUsage } from '../auth/client-usage.ts';
import type { Accounts } from '../auth/credentials.ts';
import { anonymousCaller } from '../auth/principal.ts';
import type { Restrictions } from '../auth/restrictions.ts';
import { streamTokenIssuer } from '../auth/stream-tokens.ts';
import type { Services } from '../database/database.ts';
import type { DeprecatedUsage } from '../engine/documents/deprecated-usage.ts';
import { graphiqlRoutes } from '../features/graphiql/routes.ts';
import type { PendingResponses } from '../platform/fairness/response-memory.ts';
import { readExamples } from '../schema/examples.ts';
import type { Route } from './exchange.ts';
import type { Pipeline } from './graphql.ts';
import { createRequestHandler, type RequestHandler } from './handler.ts';
import { type RejectionLog, type SlowOperations, useAccessLog } from './hooks/access-log.ts';
import { type AuthenticationOptions, useAuthentication } from './hooks/authentication.ts';
import { createCaching } from './hooks/caching.ts';
import { createCompression } from './hooks/compression.ts';
import { useCors, useOriginReport } from './hooks/cors.ts';
import { useResponseHeaders } from './hooks/headers.ts';
import { createProxyTrust, type ProxyTrust } from './hooks/proxy-trust.ts';
import { type RateLimitOptions, useRateLimit } from './hooks/rate-limit.ts';
import {
  type Origins,
  useCsrfProtection,
  useFairScheduling,
  useIpBlocklist,
} from './hooks/request-checks.ts';
import { createRequestTraces, type RequestTraces } from './hooks/tracing.ts';
import { useClientUsage, useDeprecations } from './hooks/usage.ts';
import { useVary } from './hooks/vary.ts';
import type { ServicePlugin } from './lifecycle.ts';
import type { DemoKey } from './local-request.ts';
import type { RateLimiter } from './rate-limit/limiter.ts';
import { createRequestSteps, type RequestServices } from './request-steps.ts';
import { createReadyHandler, handleLive, type Readiness } from './routes/health.ts';
import { createLoginHandler, createLogoutHandler } from './routes/login.ts';
import { createMetricsHandler } from './routes/metrics.ts';
import { createSecurityTxtHandler } from './routes/security-txt.ts';
import { createStreamTokenHandler } from './routes/stream-token.ts';
import { coreRoute, HOME, RESOURCE_METADATA } from './routes/table.ts';
import type { UseEngineOptions } from './yoga/use-engine.ts';
import type { YogaOptions } from './yoga/yoga-host.ts';
import { createResults } from './yoga/yoga-result.ts';

export interface HttpOptions extends Services, Accounts {
  readonly demoKey: DemoKey | undefined;
  readonly slowOperations: SlowOperations;
  readonly rejections: RejectionLog;
  readonly origins: Origins;
  readonly rateLimiter: RateLimiter;
  readonly restrictions: Restrictions;
  readonly clientUsage: Pick<ClientUsage, 'note'>;
  readonly deprecatedUsage: Pick<DeprecatedUsage, 'note'>;
  readonly readiness: Readiness;
  readonly operationPlugins: readonly ServicePlugin[];
  readonly pipeline: Pipeline;
  readonly createPipeline: (plugins: readonly ServicePlugin[]) => Pipeline;
  readonly schema: YogaOptions['schema'];
  readonly yogaPlugins: YogaOptions['plugins'];
  readonly pending: PendingResponses;
  readonly origin: () => string;
  readonly featureRoutes: readonly Route[];
}

/** Another host needs these parts for its list of plugins (docs/contributing/yoga-plugins.md). */
export interface HttpParts {
  readonly engine: UseEngineOptions;
  readonly authentication: AuthenticationOptions;
  readonly rateLimit: RateLimitOptions;
}

function partsOf(options: HttpOptions, trust: ProxyTrust, services: RequestServices): HttpParts {
  const { config, schema, log, origins, origin, createPipeline } = options;
  const hasMetadata = options.featureRoutes.some(({ path }) => path === RESOURCE_METADATA);
  return {
    authentication: {
      resolvers: options.credentials.resolvers,
      anonymous: anonymousCaller(config),
      findTransportProblem: trust.findTransportProblem,
      metadataUrl: hasMetadata ? () => `${origin()}${RESOURCE_METADATA}` : undefined,
    },
    rateLimit: {
      limiter: options.rateLimiter,
      policy: config.rateLimit,
      accountFactor: config.accountRateLimitFactor,
      limitsOf: options.restrictions.limitsOf,
      isFromKnown: origins.isFromKnown,
      securityLog: options.securityLog,
    },
    engine: {
      schema,
      serve(found) {
        const plugins = [trust.useProxyTrust(), useResponseHeaders(), ...found];
        const pipeline = createPipeline(plugins);
        const route = coreRoute('graphql', pipeline.handler);
        const routing = { routeOf: () => route, graphql: pipeline.handler };
        return {
          pipeline,
          route,
          requests: createRequestSteps({ ...services, ...routing, plugins }),
          results: createResults(pipeline.respond, log, config.operationLimits),
        };
      },
    },
  };
}

/** Stages run in the order of `STAGES`, and the plugins of one stage in this order. */
function pluginsOf(
  options: HttpOptions,
  trust: ProxyTrust,
  traces: RequestTraces | undefined,
  parts: HttpParts,
): ServicePlugin[] {
  const { config, log, clock, metrics, slowOperations, origins } = options;
  const cors = { corsOrigins: config.corsOrigins, corsTokenOrigins: config.corsTokenOrigins };
  return [
    trust.useProxyTrust(),
    useCors(cors),
    useVary(cors),
    useResponseHeaders(),
    useAccessLog({ clock, log, metrics, slowOperations, rejections: options.rejections }),
    useClientUsage(options.clientUsage),
    ...(config.environment === 'development' ? [useOriginReport(origins, log)] : []),
    useDeprecations(options.deprecatedUsage, metrics),
    useIpBlocklist(options.restrictions, metrics),
    useCsrfProtection(origins),
    useAuthentication(parts.authentication),
    useRateLimit(parts.rateLimit),
    useFairScheduling(),
    ...options.operationPlugins,
    ...(traces === undefined ? [] : [traces.useTraces()]),
  ];
}

function routesOf(options: HttpOptions, { findTransportProblem }: ProxyTrust): Route[] {
  const { config, database, log, metrics, demoKey, credentials, login, securityLog } = options;
  const { pipeline, rateLimiter, featureRoutes, origin, clock } = options;
  const home = featureRoutes.find(({ path }) => path === HOME)?.path;
  const graphiql = config.graphiql ? graphiqlRoutes({ examples: readExamples(), home, demoKey }) : undefined;
  return [
    { ...coreRoute('graphql', pipeline.handler), page: graphiql?.page },
    coreRoute(
      'streamToken',
      createStreamTokenHandler({
        pipeline,
        issue: streamTokenIssuer(options.accountWriteQueue, credentials.strategies),
        metrics,
      }),
    ),
    coreRoute(
      'login',
      createLoginHandler({
        ...{ login, database, log },
        warns: config.environment === 'development',
        maxBodyBytes: config.maxBodyBytes,
      }),
    ),
    coreRoute('logout', createLogoutHandler(options.endSession)),
    coreRoute('live', handleLive),
    coreRoute('ready', createReadyHandler(options.readiness)),
    coreRoute(
      'metrics',
      createMetricsHandler({
        ...{ metrics, findTransportProblem, securityLog },
        token: config.metricsToken,
        failure: rateLimiter.metricsTokens.failure,
      }),
    ),
    coreRoute('securityTxt', createSecurityTxtHandler({ contacts: config.securityContacts, origin, clock })),
    ...(graphiql === undefined ? [] : [graphiql.assets]),
    ...featureRoutes,
  ];
}

export function createHttp(options: HttpOptions): RequestHandler & { readonly parts: HttpParts } {
  const { config, log, clock, pending, origins } = options;
  const trust = createProxyTrust(config, log);
  const traces = options.tracing && createRequestTraces(options.tracing, trust.isTrustedPeer);
  const timeoutMs = config.operationTimeoutMs;
  const services = { checkOrigin: origins.check, traces, pending, timeoutMs, clock, log };
  const parts = partsOf(options, trust, services);
  const handler = createRequestHandler({
    ...services,
    plugins: pluginsOf(options, trust, traces, parts),
    routes: routesOf(options, trust),
    compression: createCompression(),
    caching: createCaching(config.publicCacheSeconds),
    pipeline: options.pipeline,
    schema: options.schema,
    limits: config.operationLimits,
    yogaPlugins: options.yogaPlugins,
  });
  return { ...handler, parts };
}
