import { revokeToken } from '../../auth/jwt/blocklist.ts';
import type { CreateFeature, FeatureServices, RouteServices } from '../../feature.ts';
import { addressKey, attemptOrigin } from '../../request/client-address.ts';
import type { Route } from '../../request/request-state.ts';
import { createAuthority } from '../tokens/authority.ts';
import { oauthRecognizer } from '../tokens/recognizer.ts';
import { createLibraryCalls } from './call.ts';
import { createEndpoints } from './endpoints.ts';
import { createInteractions } from './interactions.ts';
import { createErrorRenderer } from './library-errors.ts';
import { createOwners } from './owners.ts';
import { createProviderSource } from './provider-source.ts';
import { oauthRoutes } from './routes.ts';
import { createSignIns } from './sign-ins.ts';

/** What OAuth brings to a server. */
export const createServer: CreateFeature = (services) => {
  const authority = createAuthority(services);
  return {
    recognizers: [oauthRecognizer({ ...services, ownTokens: authority.ownTokens })],
    routes: (needed) => routesOf(services, authority, needed),
  };
};

function routesOf(
  { origin: issuer, log, database: pool }: FeatureServices,
  { keys, ownTokens }: ReturnType<typeof createAuthority>,
  { sessions, endSession, login, limiter, securityLog }: RouteServices,
): Route[] {
  const owners = createOwners(pool);
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
  return oauthRoutes({ provider, issuer, keys, calls, owners, endpoints, interactions });
}
