/**
 * An identity provider on this machine, for trying out how the service accepts its JWTs. It signs tokens for users without
 * asking for a password, so run it for tests only:
 *
 *     node examples/identity-provider.ts 9400
 *     curl -s -d client_id=application -d grant_type=urn:example:sign-in -d user=margaret http://127.0.0.1:9400/token
 */
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import process from 'node:process';
import Provider, { type ClientMetadata } from 'oidc-provider';

const API = 'https://api.example.com';
const SCOPES = 'posts:read posts:write users:read';
const SIGN_IN = 'urn:example:sign-in';
const TTL_SECONDS = 600;
const ES256 = 'ES256';

interface UserClaims {
  readonly email: string;
  readonly email_verified: boolean;
  readonly name: string;
}

/** The users by `sub`. Mallory has entered the email address of another person, and has not verified the address. */
const USERS: Readonly<Record<string, UserClaims>> = {
  ada: { email: 'ada@example.com', email_verified: true, name: 'Ada' },
  margaret: { email: 'margaret@example.com', email_verified: true, name: 'Margaret' },
  mallory: { email: 'grace@example.com', email_verified: false, name: 'Mallory' },
};

const CLIENT: ClientMetadata = {
  client_id: 'application',
  grant_types: [SIGN_IN],
  response_types: [],
  redirect_uris: [],
  token_endpoint_auth_method: 'none',
};

export function createIdentityProvider(issuer: string): Provider {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const provider = new Provider(issuer, {
    clients: [CLIENT],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'key-1', use: 'sig', alg: ES256 }] },
    cookies: { keys: ['for tests only'] },
    ttl: { AccessToken: TTL_SECONDS },
    enabledJWA: { idTokenSigningAlgValues: [ES256] },
    clientDefaults: { id_token_signed_response_alg: ES256 },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    extraTokenClaims: (_context, token) => ('accountId' in token ? { ...USERS[token.accountId] } : undefined),
    features: { devInteractions: { enabled: false } },
  });
  const resourceServer = new provider.ResourceServer(API, {
    scope: SCOPES,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: ES256 } },
  });
  provider.registerGrantType<{ readonly user?: string }>(
    SIGN_IN,
    async (context) => {
      const { client, params } = context.oidc;
      const accountId = params.user ?? '';
      const token = new provider.AccessToken({
        ...{ client, accountId, resourceServer, scope: SCOPES, gty: SIGN_IN, grantId: accountId },
      });
      context.body = {
        access_token: await token.save(),
        token_type: 'Bearer',
        expires_in: TTL_SECONDS,
        scope: SCOPES,
      };
    },
    'user',
  );
  return provider;
}

if (import.meta.main) {
  const [, , port = '9400'] = process.argv;
  const issuer = `http://127.0.0.1:${port}`;
  createServer(createIdentityProvider(issuer).callback()).listen(Number(port), '127.0.0.1', () =>
    process.stdout.write(`Identity provider: ${issuer}\n`),
  );
}
