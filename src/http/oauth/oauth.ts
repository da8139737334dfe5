import type { Recognizer } from '../../auth/authenticate.ts';
import { revokeToken } from '../../auth/jwt/blocklist.ts';
import type { Authority } from '../../auth/oauth/authority.ts';
import type { SecurityLog } from '../../auth/security-log.ts';
import type { Login } from '../../auth/session/login.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Logger } from '../../platform/log.ts';
import { addressKey, attemptOrigin } from '../../request/client-address.ts';
import type { Route } from '../../request/request-state.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import type { BucketPolicy } from '../rate-limit/token-bucket.ts';
import { createLibraryCalls } from './call.ts';
import { createEndpoints } from './endpoints.ts';
import { createInteractions } from './interactions.ts';
import { createErrorRenderer } from './library-errors.ts';
import { createOwners } from './owners.ts';
import { createProviderSource } from './provider-source.ts';
import { oauthRoutes } from './routes.ts';
import { createSignIns } from './sign-ins.ts';

export interface OAuthOptions {
  /** The public origin of the service. */
  readonly issuer: () => string;
  readonly authority: Authority;
  /** Resolves the service's own sessions. */
  readonly sessions: Recognizer;
  readonly endSession: (id: string, userId: string) => Promise<boolean>;
  readonly login: Login;
  readonly limiter: RateLimiter;
  readonly policy: BucketPolicy;
  readonly database: Database;
  readonly securityLog: SecurityLog;
  readonly log: Logger;
}

/** Wires up OAuth, and returns its routes. */
export function createOAuth(options: OAuthOptions): Route[] {
  const { issuer, authority, limiter, securityLog, log } = options;
  const { keys, ownTokens } = authority;
  const owners = createOwners(options.database);
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
  const signIns = createSignIns({
    sessions: options.sessions,
    endSession: options.endSession,
    isOf: owners.isOf,
  });
  const { login, policy } = options;
  const interactions = createInteractions({ calls, database, login, signIns, log });
  return oauthRoutes({ provider, issuer, keys, calls, owners, endpoints, interactions, limiter, policy });
}
