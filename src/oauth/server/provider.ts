import type {
  Configuration,
  interactionPolicy,
  JWK,
  KoaContextWithOIDC,
  default as Provider,
} from 'oidc-provider';
import { SCOPES } from '../../auth/scopes.ts';
import { hashSecret, matchesSecret } from '../../auth/secret-format.ts';
import type { Clock } from '../../platform/clock.ts';
import { GRANTS, OWNER_ROLE, scopesOf } from '../records/clients.ts';
import { REFRESH_TOKEN_SECONDS } from '../records/records.ts';
import { audienceOf, FAMILY_CLAIM } from '../tokens/access-token.ts';
import { ACCESS_TOKEN_SECONDS, type KeyRing, type SigningKey } from '../tokens/signing-keys.ts';
import { type AdapterOptions, createAdapterFactory, type Library, loadLibrary } from './adapter.ts';
import { ADDRESS, BROWSER, RESOURCE, RESUME_COOKIE } from './authorization-parameters.ts';
import { OAUTH_PATHS, signInPath } from './paths.ts';
import { findActiveAccount } from './sign-ins.ts';

/**
 * When the library asks for our pages: always once per authorization, since it does not know who is signed
 * in. The pages handle both sign-in and consent, and skip what need not be asked.
 */
function interactionPolicyOf({
  errors,
  interactionPolicy: { Check, Prompt },
}: Library): interactionPolicy.Prompt[] {
  return [
    new Prompt(
      { name: 'login', requestable: true },
      new Check(
        'signed_out',
        'the user must sign in',
        'login_required',
        ({ oidc }) => oidc.result?.login === undefined,
      ),
    ),
    new Prompt(
      { name: 'consent', requestable: true },
      new Check('not_asked', 'the user must give consent', 'consent_required', ({ oidc }) => {
        if (oidc.account === undefined) throw new errors.AccessDenied('the account has been disabled');
        return oidc.result?.consent === undefined;
      }),
    ),
  ];
}

const MINUTE = 60;
/** Contract section 3. A sign-in may take an hour. A grant lasts as long as the tokens that depend on it. */
const TTL = {
  AuthorizationCode: MINUTE,
  AccessToken: ACCESS_TOKEN_SECONDS,
  ClientCredentials: ACCESS_TOKEN_SECONDS,
  RefreshToken: REFRESH_TOKEN_SECONDS,
  Interaction: 60 * MINUTE,
  Session: MINUTE,
  Grant: 100 * 365 * 24 * 60 * MINUTE,
};
/** Methods of RFC 6749 section 2.3. Public clients have none. */
const CLIENT_AUTHENTICATION = ['client_secret_basic', 'client_secret_post', 'none'] as const;

interface ProviderOptions extends AdapterOptions {
  readonly issuer: string;
  readonly signer: SigningKey;
  readonly renderError: NonNullable<Configuration['renderError']>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Anyone can have an authorization stored. These limit each parameter, and all of them as JSON. */
const MAX_PARAMETER_CHARACTERS = 2_048;
const MAX_PARAMETERS_BYTES = 5_000;

/** Throws InvalidRequest, which is sent to the client, if an authorization would take too much space. */
function checkSizes({ oidc: { params = {} } }: KoaContextWithOIDC, { errors }: Library): void {
  for (const [name, value] of Object.entries(params))
    if (typeof value === 'string' && value.length > MAX_PARAMETER_CHARACTERS)
      throw new errors.InvalidRequest(`${name} must have at most ${MAX_PARAMETER_CHARACTERS} characters`);
  if (Buffer.byteLength(JSON.stringify(params)) > MAX_PARAMETERS_BYTES)
    throw new errors.InvalidRequest(`the parameters must have at most ${MAX_PARAMETERS_BYTES} bytes`);
}

/**
 * Clients may only request their registered scopes. Omitting the scope requests them all (RFC 6749 section
 * 3.3).
 */
function checkScopes({ oidc }: KoaContextWithOIDC, { errors }: Library): void {
  const { client, params } = oidc;
  if (client === undefined || params === undefined) return;
  if (params.scope === undefined) params.scope = client.scope;
  const own = scopesOf(client, { alone: false }) as readonly string[];
  const beyond = String(params.scope)
    .split(' ')
    .find((scope) => !own.includes(scope));
  if (beyond !== undefined) throw new errors.InvalidScope('requested scope is not allowed', beyond);
}

function configure(options: ProviderOptions): Configuration {
  const { library, issuer, signer, database, renderError, clock } = options;
  const { errors } = library;
  return {
    adapter: createAdapterFactory(options),
    jwks: {
      keys: [
        { ...(signer.open().export({ format: 'jwk' }) as JWK), kid: signer.id, alg: 'ES256', use: 'sig' },
      ],
    },
    cookies: {
      names: { session: 'session', interaction: 'interaction', resume: RESUME_COOKIE },
      long: { signed: false },
      short: { signed: false },
    },
    routes: {
      authorization: OAUTH_PATHS.authorize,
      token: OAUTH_PATHS.token,
      revocation: OAUTH_PATHS.revoke,
      introspection: OAUTH_PATHS.introspect,
      jwks: OAUTH_PATHS.jwks,
    },
    scopes: [...SCOPES],
    responseTypes: ['code'],
    clientAuthMethods: [...CLIENT_AUTHENTICATION],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    extraParams: { [BROWSER]: (ctx) => checkSizes(ctx, library), [ADDRESS]: null },
    extraClientMetadata: { properties: [OWNER_ROLE] },
    pkce: { required: () => true },
    allowOmittingSingleRegisteredRedirectUri: false,
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    ttl: TTL,
    clientBasedCORS: () => true,
    renderError,
    interactions: {
      policy: interactionPolicyOf(library),
      url: (_ctx, { uid }) => signInPath('interaction', uid),
    },
    async findAccount(_ctx, id) {
      const account = await findActiveAccount(database, id);
      return account && { accountId: account.id, claims: async () => ({ sub: account.id }) };
    },
    // Tokens carry the id of their grant, hashed as it is stored, so that they are revoked with it.
    extraTokenClaims: async (_ctx, token) =>
      'grantId' in token && token.grantId !== undefined
        ? { [FAMILY_CLAIM]: Buffer.from(hashSecret(token.grantId)).toString('base64url') }
        : undefined,
    formats: {
      customizers: {
        // The library dates tokens by the clock of this machine, which may be wrong.
        jwt(_ctx, _token, { payload }) {
          const aheadSeconds = Math.round((Date.now() - clock.now()) / 1_000);
          for (const claim of ['iat', 'exp'] as const) {
            const at = payload[claim];
            if (typeof at === 'number') payload[claim] = at - aheadSeconds;
          }
        },
      },
    },
    features: {
      clientCredentials: { enabled: true },
      introspection: {
        enabled: true,
        // The library knows whether the grant has ended, but not whether the account is active.
        allowedPolicy: async (_ctx, client, token) =>
          token.clientId === client.clientId &&
          ('accountId' in token && token.accountId !== undefined
            ? (await findActiveAccount(database, token.accountId)) !== undefined
            : true),
      },
      revocation: {
        enabled: true,
        allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
      },
      resourceIndicators: {
        enabled: true,
        async defaultResource(ctx) {
          checkScopes(ctx, library);
          return RESOURCE;
        },
        useGrantedResource: async () => true,
        async getResourceServerInfo(ctx, resource, client) {
          if (resource !== RESOURCE) throw new errors.InvalidTarget();
          const alone = ctx.oidc.params?.grant_type === 'client_credentials';
          const scopes = scopesOf(client, { alone });
          if (
            alone &&
            !String(ctx.oidc.params?.scope)
              .split(' ')
              .some((s) => scopes.some((own) => own === s))
          )
            throw new errors.InvalidScope(
              'the account of the client cannot hold the scope',
              String(ctx.oidc.params?.scope),
            );
          return {
            scope: scopes.join(' '),
            audience: audienceOf(issuer),
            accessTokenTTL: ACCESS_TOKEN_SECONDS,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'ES256', kid: signer.id } },
          };
        },
      },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    discovery: {
      grant_types_supported: [...GRANTS],
      revocation_endpoint_auth_methods_supported: [...CLIENT_AUTHENTICATION],
      introspection_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION.filter((name) => name !== 'none'),
    },
  };
}

interface ProviderSourceOptions
  extends Pick<ProviderOptions, 'database' | 'settle' | 'renderError' | 'clock'> {
  readonly issuer: () => string;
  readonly keys: KeyRing;
  /** Called for each provider that is created. */
  readonly onCreated: (provider: Provider) => void;
}

/** Returns a provider with the current signing key. Throws DatabaseError. */
export type ProviderSource = () => Promise<Provider>;

/** Configures the OAuth library. A provider signs with one key for its lifetime: another key needs another provider. */
export function createProviderSource({ keys, onCreated, ...options }: ProviderSourceOptions): ProviderSource {
  let loading: Promise<Library> | undefined;
  let made: { readonly name: string; readonly provider: Provider } | undefined;

  return async () => {
    loading ??= loadLibrary().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    const [library, signer] = await Promise.all([loading, keys.signer()]);
    const issuer = options.issuer();
    const name = `${issuer} ${signer.id}`;
    if (made?.name !== name) {
      const provider = new library.Provider(issuer, configure({ ...options, library, issuer, signer }));
      Object.defineProperty(provider.Client.prototype, 'compareClientSecret', {
        value(this: { readonly clientSecret: string }, presented: string): boolean {
          return matchesSecret(presented, Buffer.from(this.clientSecret, 'base64url'));
        },
      });
      onCreated(provider);
      made = { name, provider };
    }
    return made.provider;
  };
}
