import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import * as oauth from 'oauth4webapi';
import Provider from 'oidc-provider';
import { afterAll, beforeAll, expect } from 'vitest';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { Browser, PKCE } from '../../support/credentials/oauth.ts';
import { createRow } from '../support/check.ts';
import { provideCluster } from '../support/cluster.ts';
import { API_SCOPES, nameOf } from '../support/oauth-row.ts';
import { worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const port = await freePort();
const ISSUER = `http://127.0.0.1:${port}`;
const AUDIENCE = 'https://api.example.com';
const OTHER_AUDIENCE = 'https://other.example.com';
const REDIRECT_URI = 'https://application.example/callback';
const CLIENT = { client_id: 'application' };
const SECRET = 'a secret of the application';
const TTL_SECONDS = 600;
/** The issuer of the test has no certificate. */
const PLAIN = { [oauth.allowInsecureRequests]: true };

const { check } = createRow({
  group: 'issuers',
  name: 'oidc-provider',
  version: packageVersion('oidc-provider'),
  checks: {
    tokens: worksWith(
      "`JWT_JWKS_URL`, `JWT_ISSUER`, `JWT_AUDIENCE`, and a resource server with `accessTokenFormat: 'jwt'` and ES256",
    ),
    accounts: worksWith(
      '`JWT_ACCOUNTS=create`, and `email`, `email_verified` and `name` by `extraTokenClaims`',
    ),
  },
});
const cluster = provideCluster({
  JWT_JWKS_URL: `${ISSUER}/jwks`,
  JWT_ISSUER: ISSUER,
  JWT_AUDIENCE: AUDIENCE,
  JWT_ACCOUNTS: 'create',
});

/** A person as the issuer knows them. */
interface Subject {
  readonly id: string;
  readonly claims?: { readonly name: string; readonly email: string; readonly email_verified: true };
}

/** Who is at the sign-in page of the issuer. */
let visitor: Subject | undefined;

function createProvider(): Provider {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return new Provider(ISSUER, {
    clients: [{ ...CLIENT, client_secret: SECRET, redirect_uris: [REDIRECT_URI] }],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'key-1', use: 'sig', alg: 'ES256' }] },
    clientAuthMethods: ['client_secret_basic'],
    ttl: {
      AccessToken: TTL_SECONDS,
      Grant: TTL_SECONDS,
      Interaction: TTL_SECONDS,
      Session: TTL_SECONDS,
    },
    cookies: { keys: ['a secret of the issuer'] },
    scopes: API_SCOPES.split(' '),
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    extraTokenClaims: () => visitor?.claims,
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, audience) => ({
          scope: API_SCOPES,
          audience,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
        useGrantedResource: () => true,
      },
    },
  });
}

/** Signs the visitor in, and allows what is asked, without pages. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId: visitor?.id ?? '' } });
    return;
  }
  const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: CLIENT.client_id });
  grant.addOIDCScope(API_SCOPES);
  grant.addResourceScope(String(params.resource), API_SCOPES);
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

/** The access token that an application gets for a resource. */
async function signIn(resource: string, subject: Subject = { id: cluster().ada.id }): Promise<string> {
  visitor = subject;
  const url = new URL(ISSUER);
  const server = await oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, PLAIN));
  const { verifier, challenge } = PKCE();
  const authorization = new URL(server.authorization_endpoint ?? '');
  authorization.search = new URLSearchParams({
    ...CLIENT,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: API_SCOPES,
    resource,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'a-state',
  }).toString();
  const issuer = { fetch: (path: string, init?: RequestInit) => fetch(new URL(path, ISSUER), init) };
  const { left, response } = await new Browser(issuer, {}, ISSUER).open(authorization.href);
  if (left === undefined) throw new Error(`the issuer has no redirect: ${await response.text()}`);
  const parameters = oauth.validateAuthResponse(server, CLIENT, left, 'a-state');
  const tokens = await oauth.authorizationCodeGrantRequest(
    server,
    CLIENT,
    oauth.ClientSecretBasic(SECRET),
    parameters,
    REDIRECT_URI,
    verifier,
    { ...PLAIN, additionalParameters: { resource } },
  );
  return (await oauth.processAuthorizationCodeResponse(server, CLIENT, tokens)).access_token;
}

beforeAll(async () => {
  const provider = createProvider();
  const callback = provider.callback();
  const server = createServer((request, response) => {
    if (!request.url?.startsWith('/interaction/')) return void callback(request, response);
    interact(provider, request, response).catch((error: Error) => response.destroy(error));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
});

check('tokens', 'signs tokens for accounts of the service, and none for others count', async () => {
  expect(await nameOf(cluster().first.url, await signIn(AUDIENCE))).toBe('Ada');
  expect(await nameOf(cluster().first.url, await signIn(OTHER_AUDIENCE))).toBeUndefined();
});

check('accounts', 'creates one account for a subject that is a text', async () => {
  const subject = {
    id: 'google-oauth2|103547991597142817347',
    claims: { name: 'Katherine', email: 'katherine@customer.example', email_verified: true as const },
  };
  expect(await nameOf(cluster().first.url, await signIn(AUDIENCE, subject))).toBe('Katherine');
  const renamed = { ...subject, claims: { ...subject.claims, name: 'Another name' } };
  expect(await nameOf(cluster().second.url, await signIn(AUDIENCE, renamed))).toBe('Katherine');
});
