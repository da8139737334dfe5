import type * as OidcProvider from 'oidc-provider';
import type {
  Adapter,
  Configuration,
  interactionPolicy,
  JWK,
  KoaContextWithOIDC,
  default as Provider,
} from 'oidc-provider';
import { SCOPES } from '../../../auth/scopes.ts';
import { hashSecret, matchesSecret } from '../../../auth/secrets.ts';
import type { Queryable } from '../../../database/statement.ts';
import type { Clock } from '../../../platform/deadline.ts';
import { isUuid } from '../../../platform/ids.ts';
import { audienceOf, FAMILY_CLAIM } from '../access-token.ts';
import { clientMetadata, findOAuthClient, GRANT_TYPES, getGrantableScopes, OWNER_ROLE } from '../clients.ts';
import { OAUTH_PATHS, signInPath } from '../paths.ts';
import { createRecords, REFRESH_TOKEN_SECONDS } from '../records.ts';
import { findActiveAccount } from '../routes/sign-in.ts';
import { ACCESS_TOKEN_SECONDS, type KeyRing, type SigningKey } from '../signing-keys.ts';

/** The only resource that tokens are issued for. The name stays the same if the service moves. */
export const RESOURCE = 'urn:content-graph-api';
/**
 * The library's resume cookie. Browsers never get the library's cookies: we add them to the requests passed
 * to it.
 */
export const RESUME_COOKIE = 'resume';
/** Our own parameters: hashes of the browser and, keyed, of the address that began the authorization. */
export const BROWSER = 'browser';
export const ADDRESS = 'address';

/** Parameters of OpenID Connect that the library rejects where the scope `openid` is not requested. */
const OPENID_PARAMETERS = ['acr_values', 'claims_locales', 'id_token_hint', 'max_age', 'nonce'];

/**
 * Removes the parameters of OpenID Connect, because unknown parameters are ignored (RFC 6749 section 3.1). A parameter
 * that occurs twice stays: the library rejects the request for it.
 */
export function withoutOpenIdParameters(parameters: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams(parameters);
  for (const name of OPENID_PARAMETERS) if (kept.getAll(name).length === 1) kept.delete(name);
  return kept;
}

/**
 * Removes a `resource` that names our only resource (RFC 8707), by any of its names, since it is the default.
 * An empty value counts as absent (RFC 6749 section 3.1). Any other value stays, and is rejected later.
 */
export function withoutOwnResource(parameters: URLSearchParams, issuer: string): URLSearchParams {
  const kept = new URLSearchParams(parameters);
  for (const name of ['', RESOURCE, audienceOf(issuer), issuer, `${issuer}/`]) kept.delete('resource', name);
  return kept;
}

/** The parts of the OAuth library that are used. */
interface Library {
  readonly Provider: typeof OidcProvider.default;
  readonly errors: typeof OidcProvider.errors;
  readonly interactionPolicy: typeof OidcProvider.interactionPolicy;
}

/**
 * Loads the OAuth library on first use: it takes longer than the rest of startup. Its modules are imported
 * one by one, because its index writes to the console on Node releases that are not LTS.
 */
async function loadLibrary(): Promise<Library> {
  const load = (file: string): Promise<unknown> => import(`oidc-provider/lib/${file}.js`);
  const [{ Provider }, errors, interactionPolicy] = (await Promise.all([
    load('provider'),
    load('helpers/errors'),
    load('helpers/interaction_policy/index'),
  ])) as [{ Provider: Library['Provider'] }, Library['errors'], Library['interactionPolicy']];
  return { Provider, errors, interactionPolicy };
}

interface ProviderOptions {
  readonly database: Queryable;
  /** Called before something is used up. Throws if the request is out of time. */
  readonly settle: () => void;
  readonly renderError: NonNullable<Configuration['renderError']>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * The library's sessions are not stored: at each request, the service's own session says who is signed in.
 */
const forgotten: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

/** The storage of the library. All methods throw DatabaseError. */
function createAdapterFactory(
  { errors }: Library,
  { database, settle }: ProviderOptions,
): (model: string) => Adapter {
  const ended = () => new errors.SessionNotFound('the sign-in has ended');
  return (model) => {
    if (model === 'Session') return forgotten;
    // Clients have their own table, and only the administrator creates them.
    if (model === 'Client')
      return {
        ...forgotten,
        async find(id) {
          const row = isUuid(id) ? await findOAuthClient(database, id) : undefined;
          return row && clientMetadata(row);
        },
      };
    const records = createRecords(database, model);
    return {
      ...forgotten,
      async upsert(id, payload, expiresIn = 0) {
        // A result may only update an existing sign-in. If it were inserted again, a finished sign-in could
        // finish twice.
        if (model !== 'Interaction') await records.upsert(id, payload, expiresIn);
        else if (payload.result === undefined)
          await records.upsert(id, payload, expiresIn, String(payload.params?.[ADDRESS]));
        else if (!(await records.update(id, payload, expiresIn))) throw ended();
      },
      find: records.find,
      async consume(id) {
        settle();
        // The library checks before it consumes, so two concurrent requests can both pass its check.
        if (!(await records.consume(id))) throw new errors.InvalidGrant('it was already used');
      },
      async destroy(id) {
        settle();
        // A sign-in that finishes twice at once would yield two codes.
        if (!(await records.destroy(id)) && model === 'Interaction') throw ended();
      },
      revokeByGrantId: records.endFamily,
    };
  };
}

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
  const own = getGrantableScopes(client, { alone: false }) as readonly string[];
  const beyond = String(params.scope)
    .split(' ')
    .find((scope) => !own.includes(scope));
  if (beyond !== undefined) throw new errors.InvalidScope('requested scope is not allowed', beyond);
}

function configure(
  library: Library,
  issuer: string,
  signer: SigningKey,
  options: ProviderOptions,
): Configuration {
  const { database, renderError, clock } = options;
  const { errors } = library;
  return {
    adapter: createAdapterFactory(library, options),
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
        // The library knows whether the grant is revoked, but not whether the account is active.
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
          const scopes = getGrantableScopes(client, { alone });
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
      grant_types_supported: [...GRANT_TYPES],
      revocation_endpoint_auth_methods_supported: [...CLIENT_AUTHENTICATION],
      introspection_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION.filter((name) => name !== 'none'),
    },
  };
}

interface ProviderSourceOptions extends ProviderOptions {
  readonly issuer: () => string;
  readonly keys: KeyRing;
  /** Called for each provider that is created. */
  readonly onCreated: (provider: Provider) => void;
}

/**
 * Configures the OAuth library. A provider signs with one key for its lifetime: another key needs another provider.
 * @returns a function that returns the provider of the current signing key, and throws DatabaseError
 */
export function createProviderSource({ keys, onCreated, ...options }: ProviderSourceOptions) {
  let loading: Promise<Library> | undefined;
  let made: { readonly name: string; readonly provider: Provider } | undefined;

  return async (): Promise<Provider> => {
    loading ??= loadLibrary().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    const [library, signer] = await Promise.all([loading, keys.signer()]);
    const issuer = options.issuer();
    const name = `${issuer} ${signer.id}`;
    if (made?.name !== name) {
      const provider = new library.Provider(issuer, configure(library, issuer, signer, options));
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
