import type { Recognizer } from '../auth/authenticate.ts';
import { revokeToken } from '../auth/jwt/blocklist.ts';
import type { SecurityLog } from '../auth/security-log.ts';
import type { Login } from '../auth/session/login.ts';
import type { EndSession } from '../auth/session/store.ts';
import type { SecretServices } from '../auth/stored-secret.ts';
import type { RateLimiter } from '../http/rate-limit/limiter.ts';
import type { Job } from '../jobs/job.ts';
import type { Config } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { addressKey, attemptOrigin } from '../request/client-address.ts';
import type { Route } from '../request/request-state.ts';
import { expiredRecords } from './records/records.ts';
import { createLibraryCalls } from './server/call.ts';
import { createEndpoints } from './server/endpoints.ts';
import { createInteractions } from './server/interactions.ts';
import { createErrorRenderer } from './server/library-errors.ts';
import { createOwners } from './server/owners.ts';
import { createProviderSource } from './server/provider-source.ts';
import { oauthRoutes } from './server/routes.ts';
import { createSignIns } from './server/sign-ins.ts';
import { type Authority, createAuthority } from './tokens/authority.ts';
import { oauthRecognizer } from './tokens/recognizer.ts';
import { oldSigningKeys } from './tokens/signing-keys.ts';

export interface OAuthOptions extends SecretServices {
  readonly config: Config;
  readonly database: Database;
  /** The public origin of the service. */
  readonly issuer: () => string;
}

/** What the pages and endpoints of OAuth need of the rest of the service. */
export interface OAuthRoutesOptions {
  /** Recognizes the service's own sessions. */
  readonly sessions: Recognizer;
  readonly endSession: EndSession;
  readonly login: Login;
  readonly limiter: RateLimiter;
  readonly securityLog: SecurityLog;
}

/** What OAuth brings to a server. Its types, jobs and commands need no server. */
export interface OAuth {
  readonly recognizer: Recognizer;
  routes(options: OAuthRoutesOptions): Route[];
}

export function createOAuth(options: OAuthOptions): OAuth {
  const authority = createAuthority(options);
  return {
    recognizer: oauthRecognizer({ ...options, ownTokens: authority.ownTokens }),
    routes: (needed) => routesOf(options, authority, needed),
  };
}

function routesOf(
  { config, issuer, log, ...services }: OAuthOptions,
  { keys, ownTokens }: Authority,
  { sessions, endSession, login, limiter, securityLog }: OAuthRoutesOptions,
): Route[] {
  const owners = createOwners(services.database);
  const { database } = owners;
  const calls = createLibraryCalls(issuer, log);
  const provider = createProviderSource({
    issuer,
    keys,
    database,
    renderError: createErrorRenderer(calls, log),
    onCreated: calls.watch,
  });
  const endpoints = createEndpoints({
    calls,
    issuer,
    ownTokens,
    revokeToken: (token) => revokeToken(database, token),
    async failure(state, client) {
      await limiter.credentials.failure(`address:${addressKey(state.clientAddress)}`);
      securityLog.failedCredential(attemptOrigin(state), {
        kind: 'client-secret',
        client,
        reason: 'The client could not be authenticated.',
      });
    },
  });
  const signIns = createSignIns({ sessions, endSession, isOf: owners.isOf });
  const interactions = createInteractions({ calls, database, login, signIns, log });
  const policy = config.rateLimit;
  return oauthRoutes({ provider, issuer, keys, calls, owners, endpoints, interactions, limiter, policy });
}

/** The clean-up of OAuth, in the order in which it is done. */
export const oauthJobs = ({ environment }: Pick<Config, 'environment'>): Job[] => [
  expiredRecords,
  oldSigningKeys(environment === 'production'),
];
