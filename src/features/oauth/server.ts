import type { default as Provider } from 'oidc-provider';
import { chargedTo } from '../../auth/principal.ts';
import { SCOPES } from '../../auth/scopes.ts';
import { secretKeyOf } from '../../database/embedded/data-dir.ts';
import type { Route, RouteHandler, RouteProperties } from '../../http/exchange.ts';
import { pageErrors } from '../../http/html/page.ts';
import type { HttpResponse } from '../../http/message.ts';
import { jsonResponse } from '../../http/response/responder.ts';
import { CREDENTIAL_ROUTE, NOT_FOUND_ROUTE } from '../../http/routes/table.ts';
import { createKeyedHash } from '../../platform/crypto.ts';
import { addressKey, formatIpOwner } from '../../platform/ip-address.ts';
import type { CreateFeature, FeatureServices, RouteServices } from '../feature.ts';
import { audienceOf, createAccessTokenStrategy, createOwnTokens, type OwnTokens } from './access-token.ts';
import { OAUTH_PATHS } from './paths.ts';
import { type Audience, createOAuthRequestQueue, createOAuthRequests } from './provider/oauth-requests.ts';
import {
  BROWSER,
  createProviderSource,
  withoutOpenIdParameters,
  withoutOwnResource,
} from './provider/provider.ts';
import { createLibraryCall, oauthErrors } from './provider/provider-bridge.ts';
import { ADDRESS } from './records.ts';
import { knownBrowser } from './routes/cookies.ts';
import { createEndpoints, type OAuthExchange } from './routes/endpoints.ts';
import { createInteractions } from './routes/interactions.ts';
import { createLogout, createUserinfo } from './routes/openid.ts';
import { createKeyRing, type KeyRing } from './signing-keys.ts';

const ENDPOINT: RouteProperties = {
  ...CREDENTIAL_ROUTE,
  bucket: 'tokens',
  credentials: 'own',
  errors: oauthErrors,
};
/** The token of the request identifies the caller, as at `/graphql`. */
const USERINFO: RouteProperties = { ...CREDENTIAL_ROUTE, methods: ['GET', 'POST'], credentials: 'required' };
const FACTS: RouteProperties = { ...ENDPOINT, methods: ['GET', 'HEAD'], bucket: undefined, needsTls: false };
const METADATA: RouteProperties = { ...FACTS, storable: true, compressible: true };
/**
 * Scripts of other sites get no access to pages. Anyone can begin a sign-in, and each sign-in adds a row to
 * the database.
 */
const PAGE: RouteProperties = {
  ...ENDPOINT,
  methods: ['GET'],
  bucket: 'pages',
  credentials: 'session',
  cors: false,
  documentOnly: true,
  errors: pageErrors,
};
const FORM: RouteProperties = { ...PAGE, methods: ['POST'], originCheck: 'own' };

function routesOf(
  { config, origin: issuer, log, clock, metrics, database: pool }: FeatureServices,
  keys: KeyRing,
  ownTokens: OwnTokens,
  services: RouteServices,
): Route[] {
  const { endSession, limiter, securityLog } = services;
  const requestQueue = createOAuthRequestQueue(config.maxQueuedOperations, metrics);
  const requests = createOAuthRequests(pool, config.operationTimeoutMs, requestQueue.measure);
  const { database } = requests;
  const provider = createProviderSource({ ...requests, issuer, keys, clock, log });
  const callLibrary = createLibraryCall(provider, ({ disconnectSignal }) =>
    requestQueue.take(requests.current(), disconnectSignal),
  );
  const endpoints = createEndpoints({
    ...{ callLibrary, issuer, ownTokens, database },
    async failure(admitted, client) {
      await limiter.credentials.failure(formatIpOwner(admitted.clientAddress));
      securityLog.failedCredential(admitted, {
        kind: 'client-secret',
        client,
        reason: 'The client could not be authenticated.',
      });
    },
  });
  const interactions = createInteractions({ ...services, ...requests, provider, callLibrary, log });
  const logout = createLogout({ database, endSession });
  let keyedHash: ReturnType<typeof createKeyedHash> | undefined;
  const addressHash = (address: string) => {
    keyedHash ??= createKeyedHash(secretKeyOf(config), 'addresses of OAuth sign-ins');
    return keyedHash(address);
  };

  const handlerFor =
    (audience: Audience) =>
    (handle: (exchange: OAuthExchange) => Promise<HttpResponse>): RouteHandler =>
    (request, admitted) =>
      requests.run(audience, chargedTo(admitted), () => handle({ request, admitted }));
  const endpoint = handlerFor('program');
  const page = handlerFor('user');

  async function authorize({ request, admitted }: OAuthExchange): Promise<HttpResponse> {
    const { searchParams } = new URL(request.url);
    const query = withoutOpenIdParameters(withoutOwnResource(searchParams, issuer()));
    const browser = knownBrowser(request);
    query.set(BROWSER, browser.hash);
    query.set(ADDRESS, addressHash(addressKey(admitted.clientAddress)));
    const target = `${OAUTH_PATHS.authorize}?${query}`;
    const { response } = await callLibrary({ request, admitted, target });
    if (browser.setCookie !== undefined) response.headers.set('set-cookie', browser.setCookie);
    return response;
  }

  /** The library takes long to create the metadata, which is the same for all clients. */
  const metadata = new WeakMap<Provider, unknown>();

  async function discover({ request, admitted }: OAuthExchange): Promise<HttpResponse> {
    const current = await provider();
    let known = metadata.get(current);
    if (known === undefined) {
      const { response } = await callLibrary({ request, admitted, target: OAUTH_PATHS.discovery });
      if (response.status !== 200) return response;
      known = JSON.parse(String(response.body));
      metadata.set(current, known);
    }
    return jsonResponse(known);
  }

  /** RFC 9728 §2 defines this metadata. */
  const describe =
    (resource: () => string): RouteHandler =>
    async () =>
      jsonResponse({
        resource: resource(),
        authorization_servers: [issuer()],
        scopes_supported: SCOPES,
        bearer_methods_supported: ['header'],
      });

  async function publishKeys(): Promise<HttpResponse> {
    const headers = { 'content-type': 'application/jwk-set+json; charset=utf-8' };
    return jsonResponse({ keys: await keys.published() }, { headers });
  }

  return [
    { ...METADATA, path: OAUTH_PATHS.discovery, handler: endpoint(discover) },
    { ...METADATA, path: OAUTH_PATHS.openIdDiscovery, handler: endpoint(discover) },
    { ...METADATA, path: OAUTH_PATHS.originMetadata, handler: describe(issuer) },
    { ...METADATA, path: OAUTH_PATHS.resourceMetadata, handler: describe(() => audienceOf(issuer())) },
    { ...FACTS, path: OAUTH_PATHS.jwks, handler: publishKeys },
    { ...PAGE, path: OAUTH_PATHS.authorize, handler: page(authorize) },
    { ...PAGE, path: OAUTH_PATHS.interaction, handler: page(interactions.interaction) },
    { ...FORM, path: OAUTH_PATHS.login, handler: page(interactions.login) },
    { ...FORM, path: OAUTH_PATHS.allow, handler: page(interactions.allow) },
    { ...FORM, path: OAUTH_PATHS.cancel, handler: page(interactions.cancel) },
    { ...ENDPOINT, path: OAUTH_PATHS.token, handler: endpoint(endpoints.token) },
    { ...ENDPOINT, path: OAUTH_PATHS.revoke, handler: endpoint(endpoints.revoke) },
    { ...ENDPOINT, path: OAUTH_PATHS.introspect, handler: endpoint(endpoints.introspect) },
    { ...USERINFO, path: OAUTH_PATHS.userinfo, handler: createUserinfo(pool, ownTokens) },
    {
      ...PAGE,
      path: OAUTH_PATHS.logout,
      methods: ['GET', 'POST'],
      // Applications post from other origins, and on the same site the session's cookie comes along. The post only
      // redirects to the page.
      originCheck: 'none',
      handler: page(logout.ask),
    },
    { ...FORM, path: OAUTH_PATHS.confirmLogout, handler: page(logout.confirm) },
    {
      ...ENDPOINT,
      path: OAUTH_PATHS.others,
      methods: NOT_FOUND_ROUTE.methods,
      bucket: undefined,
      handler: NOT_FOUND_ROUTE.handler,
    },
  ];
}

export const createOAuthServer: CreateFeature = (services) => {
  const keys = createKeyRing(services);
  const ownTokens = createOwnTokens(services, keys);
  return {
    authStrategies: [createAccessTokenStrategy(services, ownTokens)],
    routes: (needed) => routesOf(services, keys, ownTokens, needed),
  };
};
