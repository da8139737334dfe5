import { revokeToken } from '../../auth/jwt/blocklist.ts';
import type { CreateFeature, FeatureServices, RouteServices } from '../../feature.ts';
import { createKeyedHash } from '../../platform/sealing.ts';
import { secretKeyOf } from '../../platform/secret-key.ts';
import { addressKey, attemptOrigin } from '../../request/client-address.ts';
import type { RequestState, Route } from '../../request/request-state.ts';
import { createAuthority } from '../tokens/authority.ts';
import { oauthRecognizer } from '../tokens/recognizer.ts';
import { createLibraryCalls } from './call.ts';
import { createEndpoints } from './endpoints.ts';
import { createInteractions } from './interactions.ts';
import { createErrorRenderer } from './library-errors.ts';
import { createProviderSource } from './provider-source.ts';
import { oauthRoutes } from './routes.ts';
import { createSignIns } from './sign-ins.ts';
import { createTurns } from './turns.ts';
import { createWorks } from './work.ts';

/** What OAuth brings to a server. */
export const createServer: CreateFeature = (services) => {
  const authority = createAuthority(services);
  return {
    recognizers: [oauthRecognizer({ ...services, ownTokens: authority.ownTokens })],
    routes: (needed) => routesOf(services, authority, needed),
  };
};

function routesOf(
  { config, origin: issuer, log, clock, metrics, database: pool }: FeatureServices,
  { keys, ownTokens }: ReturnType<typeof createAuthority>,
  { sessions, endSession, login, limiter, securityLog }: RouteServices,
): Route[] {
  const turns = createTurns(config.maxQueuedOperations, metrics);
  const works = createWorks({
    database: pool,
    timeoutMs: config.operationTimeoutMs,
    onResult: turns.measure,
  });
  const { database, transaction, settle } = works;
  const turn = ({ departure }: RequestState) => turns.take(works.current(), departure);
  const calls = createLibraryCalls({ issuer, turn, log });
  const provider = createProviderSource({
    issuer,
    keys,
    database,
    settle,
    renderError: createErrorRenderer(calls, log),
    clock,
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
  const signIns = createSignIns({ sessions, endSession, isOf: works.isOf });
  const interactions = createInteractions({ calls, database, transaction, login, signIns, settle, log });
  let keyedHash: ReturnType<typeof createKeyedHash> | undefined;
  const addressHash = (address: string) => {
    keyedHash ??= createKeyedHash(secretKeyOf(config), 'addresses of OAuth sign-ins');
    return keyedHash(address);
  };
  return oauthRoutes({
    provider,
    issuer,
    keys,
    calls,
    works,
    endpoints,
    interactions,
    addressHash,
  });
}
