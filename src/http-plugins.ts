import packageJson from '../package.json' with { type: 'json' };
import { accountTurns } from './auth/account/turns.ts';
import type { Credentials } from './auth/credentials.ts';
import type { Authority } from './auth/oauth/authority.ts';
import type { Anonymous } from './auth/principal.ts';
import { readsOf } from './auth/reads-of.ts';
import type { SecurityLog } from './auth/security-log.ts';
import type { Login } from './auth/session/login.ts';
import { ownerOf } from './auth/session/owner.ts';
import { revokeSession } from './auth/session/store.ts';
import { streamTokenIssuer } from './auth/stream-token/store.ts';
import { useGraphiql } from './http/graphiql/use-graphiql.ts';
import { createOAuth } from './http/oauth/oauth.ts';
import { useOAuthErrors } from './http/oauth/plugin.ts';
import { useGraphqlPath } from './http/pipeline/graphql-params.ts';
import type { Pipeline } from './http/pipeline/pipeline.ts';
import type { HttpPlugin } from './http/plugin.ts';
import type { RateLimiter } from './http/rate-limit/limiter.ts';
import { useRateLimit } from './http/rate-limit/use-rate-limit.ts';
import { useAuthentication } from './http/request/use-authentication.ts';
import { createTransport } from './http/request/use-proxy-trust.ts';
import { useRequestId } from './http/request/use-request-id.ts';
import { useTurns } from './http/request/use-turns.ts';
import { useWellFormed } from './http/request/use-well-formed.ts';
import type { SlowOperations } from './http/response/slow-operations.ts';
import { useAccessLog } from './http/response/use-access-log.ts';
import { useDeprecationReport } from './http/response/use-deprecation-report.ts';
import { useOriginReport } from './http/response/use-origin-report.ts';
import { useResponseHeaders } from './http/response/use-response-headers.ts';
import { developmentPages } from './http/routes/development.ts';
import { useHealth } from './http/routes/health.ts';
import { useLogin } from './http/routes/login.ts';
import { useLogout } from './http/routes/logout.ts';
import { useMetricsRoute } from './http/routes/metrics.ts';
import type { Readiness } from './http/routes/readiness.ts';
import { useStreamTokens } from './http/routes/stream-token.ts';
import type { Clock } from './platform/clock.ts';
import type { Config } from './platform/config.ts';
import type { Database } from './platform/db/database.ts';
import type { Line } from './platform/line.ts';
import type { Logger } from './platform/log.ts';
import type { Metrics } from './platform/metrics.ts';
import type { Origins } from './request/origin-check.ts';

export interface HttpPluginsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** The path of GraphQL requests. */
  readonly endpoint: string;
  /** The service's own origin. */
  readonly issuer: () => string;
  readonly demoKey: string | undefined;
  readonly anonymous: Anonymous;
  readonly authority: Authority;
  readonly credentials: Credentials;
  /** For statements that may wait for the lock of an account. */
  readonly accountLine: Line;
  readonly login: Login;
  readonly securityLog: SecurityLog;
  readonly slowOperations: SlowOperations;
  readonly origins: Origins;
  readonly rateLimiter: RateLimiter;
  readonly readiness: Readiness;
  readonly pipeline: Pipeline;
}

/** The HTTP plugins, in the order in which a request passes them. */
export function httpPlugins(options: HttpPluginsOptions): HttpPlugin[] {
  const { config, database, log, clock, metrics, endpoint, demoKey, credentials, login } = options;
  const { securityLog, slowOperations } = options;
  const { anonymous, authority, accountLine, origins, rateLimiter, readiness, pipeline } = options;
  const development = config.environment === 'development';
  const checkOrigin = origins.check;
  const transport = createTransport(config, log);
  const turns = accountTurns(database, accountLine);
  const endSession = (id: string, userId: string) => revokeSession(turns.statements(userId), id, userId);
  return [
    useRequestId(),
    transport.useProxyTrust(),
    useOAuthErrors(),
    useResponseHeaders({ variesByOrigin: config.corsOrigins.length > 0 }),
    useAccessLog({ clock, log, metrics, slowOperations }),
    ...(development ? [useOriginReport(origins, log)] : []),
    useWellFormed(log),
    useDeprecationReport(metrics),
    useHealth({ version: packageJson.version, problem: readiness.problem, log }),
    useMetricsRoute({
      metrics,
      token: config.metricsToken,
      isSecure: transport.isSecure,
      clock,
      securityLog,
      log,
    }),
    ...(development ? developmentPages({ endpoint, graphiql: config.graphiql, demoKey }) : []),
    ...(config.graphiql ? [useGraphiql({ endpoint, home: development ? '/' : undefined, demoKey })] : []),
    useAuthentication({
      recognizers: credentials.resolvers,
      streamPath: endpoint,
      anonymous,
      isSecure: transport.isSecure,
      log,
    }),
    useRateLimit({
      limiter: rateLimiter,
      policy: config.rateLimit,
      accountFactor: config.accountLimitFactor,
      metrics,
      securityLog,
      log,
    }),
    useTurns(log),
    useLogin({
      login,
      ownerOf: (session) => ownerOf(readsOf(database, session.userId), session),
      warns: development,
      maxBodyBytes: config.maxBodyBytes,
      checkOrigin,
      log,
    }),
    useLogout({
      endSession,
      checkOrigin,
      log,
    }),
    useStreamTokens({
      pipeline,
      issue: streamTokenIssuer(turns, credentials.recognizers),
      checkOrigin,
      metrics,
      log,
    }),
    createOAuth({
      issuer: options.issuer,
      authority,
      sessions: credentials.sessions,
      endSession,
      login,
      checkOrigin,
      limiter: rateLimiter,
      policy: config.rateLimit,
      database,
      securityLog,
      log,
    }),
    useGraphqlPath(endpoint, log),
  ];
}
