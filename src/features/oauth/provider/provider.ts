import type * as OidcProvider from 'oidc-provider';
import type {
  Adapter,
  Configuration,
  interactionPolicy,
  JWK,
  KoaContextWithOIDC,
  default as Provider,
} from 'oidc-provider';
import { IDENTITY_SCOPES, isScope, SCOPES } from '../../../auth/scopes.ts';
import { hashSecret, matchesSecret } from '../../../auth/secrets.ts';
import type { Clock } from '../../../platform/deadline.ts';
import { isUuid } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/log/log.ts';
import { audienceOf, FAMILY_CLAIM } from '../access-token.ts';
import { clientMetadata, findOAuthClient, getGrantableScopes, OWNER_ROLE } from '../clients.ts';
import { createClaims, findActiveAccount, IDENTITY_CLAIMS } from '../identity.ts';
import { OAUTH_PATHS, signInPath } from '../paths.ts';
import { ADDRESS, createRecords, REFRESH_TOKEN_SECONDS, type RecordOptions, UNSTORED } from '../records.ts';
import { ACCESS_TOKEN_SECONDS, type KeyRing, type SigningKey } from '../signing-keys.ts';
import { RESUME_COOKIE, renderError, watchProvider } from './provider-bridge.ts';

/** Tokens are issued only for this resource. The name stays valid if the service moves. */
export const RESOURCE = 'urn:content-graph-api';
/** This parameter has the hash of the browser that began the authorization. */
export const BROWSER = 'browser';

/** The library rejects these OpenID Connect parameters if the scope `openid` is not requested. */
const OPENID_PARAMETERS = ['acr_values', 'claims_locales', 'max_age', 'nonce'];
/**
 * The library knows no user, so it would reject `prompt=none`. The pages get this value instead, and respond without a
 * question.
 */
export const SILENT = 'silent';

/**
 * RFC 6749 §3.1 requires that unknown parameters are ignored. A repeated parameter stays, and the library
 * rejects the request. `id_token_hint` is ignored, because its key may be rotated out.
 */
export function withoutOpenIdParameters(parameters: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams(parameters);
  const isOpenId = kept.get('scope')?.split(' ').includes('openid') === true;
  const ignored = isOpenId ? [] : OPENID_PARAMETERS;
  for (const name of ['id_token_hint', ...ignored]) if (kept.getAll(name).length === 1) kept.delete(name);
  if (isOpenId && kept.getAll('prompt').join(' ') === 'none') kept.set('prompt', SILENT);
  return kept;
}

/**
 * The only resource (RFC 8707) is the default, so all of its names are removed. An empty value counts as
 * absent (RFC 6749 §3.1). Other values stay and are rejected later.
 */
export function withoutOwnResource(parameters: URLSearchParams, issuer: string): URLSearchParams {
  const kept = new URLSearchParams(parameters);
  for (const name of ['', RESOURCE, audienceOf(issuer), issuer, `${issuer}/`]) kept.delete('resource', name);
  return kept;
}

type Library = Pick<typeof OidcProvider, 'Provider' | 'errors' | 'interactionPolicy'>;

/**
 * The first use loads the library, because loading takes longer than the rest of the startup. The modules are
 * imported one by one, because the index writes to the console on Node releases that are not LTS.
 */
async function loadLibrary(): Promise<Library> {
  const files = ['provider', 'helpers/errors', 'helpers/interaction_policy/index'];
  const modules = await Promise.all(files.map((file) => import(`oidc-provider/lib/${file}.js`)));
  const [{ Provider }, errors, interactionPolicy] = modules;
  return { Provider, errors, interactionPolicy };
}

interface ProviderOptions extends RecordOptions {
  readonly issuer: () => string;
  readonly keys: KeyRing;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
}

function createAdapter(model: string, { errors }: Library, options: ProviderOptions): Adapter {
  // At each request, the service's session determines the user.
  if (model === 'Session') return UNSTORED;
  if (model !== 'Client') return createRecords(model, options, errors);
  // Clients have a separate table, and only the administrator creates them.
  return {
    ...UNSTORED,
    async find(id) {
      const row = isUuid(id) ? await findOAuthClient(options.database, id) : undefined;
      return row && clientMetadata(row);
    },
  };
}

/**
 * The library shows the service's pages once per authorization, because it does not know who is signed in.
 * The pages handle sign-in and consent, and skip unnecessary questions.
 */
function interactionPolicyOf({
  errors,
  interactionPolicy: { Check, Prompt },
}: Library): interactionPolicy.Prompt[] {
  return [
    new Prompt({ name: SILENT, requestable: true }),
    new Prompt({ name: 'select_account', requestable: true }),
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
/** A sign-in may take an hour. A grant lasts as long as the tokens that depend on it. */
const TTL = {
  AuthorizationCode: MINUTE,
  AccessToken: ACCESS_TOKEN_SECONDS,
  ClientCredentials: ACCESS_TOKEN_SECONDS,
  RefreshToken: REFRESH_TOKEN_SECONDS,
  Interaction: 60 * MINUTE,
  Session: MINUTE,
  Grant: 100 * 365 * 24 * 60 * MINUTE,
};
/** RFC 6749 §2.3 defines the methods. Public clients use `none`. */
const CLIENT_AUTHENTICATION = ['client_secret_basic', 'client_secret_post', 'none'] as const;

/** Anyone can have an authorization stored, so each parameter and the JSON of all parameters is limited. */
const MAX_PARAMETER_CHARACTERS = 2_048;
const MAX_PARAMETERS_BYTES = 5_000;

/**
 * @throws {InvalidRequest} if an authorization would take too much space; the library sends the error to the
 * client
 */
function checkSizes({ oidc: { params = {} } }: KoaContextWithOIDC, { errors }: Library): void {
  for (const [name, value] of Object.entries(params))
    if (typeof value === 'string' && value.length > MAX_PARAMETER_CHARACTERS)
      throw new errors.InvalidRequest(`${name} must have at most ${MAX_PARAMETER_CHARACTERS} characters`);
  if (Buffer.byteLength(JSON.stringify(params)) > MAX_PARAMETERS_BYTES)
    throw new errors.InvalidRequest(`the parameters must have at most ${MAX_PARAMETERS_BYTES} bytes`);
}

/**
 * Clients may only request their registered scopes. A request without a scope requests all of them (RFC 6749
 * §3.3).
 */
function checkScopes({ oidc }: KoaContextWithOIDC, { errors }: Library): void {
  const { client, params } = oidc;
  if (client === undefined || params === undefined) return;
  const own: readonly string[] = getGrantableScopes(client, { alone: false });
  if (params.scope === undefined) params.scope = own.filter(isScope).join(' ');
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
  const { database, clock } = options;
  const { errors } = library;
  // The library dates tokens by the clock of this machine, which may be wrong.
  const aheadSeconds = () => Math.round((Date.now() - clock.now()) / 1_000);
  return {
    adapter: (model: string) => createAdapter(model, library, options),
    jwks: {
      keys: [
        { ...(signer.open().export({ format: 'jwk' }) as JWK), kid: signer.id, alg: 'ES256', use: 'sig' },
      ],
    },
    cookies: { names: { resume: RESUME_COOKIE } },
    routes: {
      authorization: OAUTH_PATHS.authorize,
      token: OAUTH_PATHS.token,
      revocation: OAUTH_PATHS.revoke,
      introspection: OAUTH_PATHS.introspect,
      jwks: OAUTH_PATHS.jwks,
    },
    scopes: [...SCOPES, ...IDENTITY_SCOPES],
    claims: IDENTITY_CLAIMS,
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
    ttl: { ...TTL, IdToken: () => Math.max(1, ACCESS_TOKEN_SECONDS - aheadSeconds()) },
    renderError,
    interactions: {
      policy: interactionPolicyOf(library),
      url: (_ctx, { uid }) => signInPath('interaction', uid),
    },
    async findAccount(_ctx, id) {
      const account = await findActiveAccount(database, id);
      const iat = Math.floor(clock.now() / 1_000);
      return account && { accountId: account.id, claims: async () => ({ ...createClaims(account), iat }) };
    },
    // Tokens have the stored hash of their grant's id, so that they are revoked with the grant.
    extraTokenClaims: async (_ctx, token) =>
      'grantId' in token && token.grantId !== undefined
        ? { [FAMILY_CLAIM]: Buffer.from(hashSecret(token.grantId)).toString('base64url') }
        : undefined,
    formats: {
      customizers: {
        jwt(_ctx, _token, { payload }) {
          for (const claim of ['iat', 'exp'] as const) {
            const at = payload[claim];
            if (typeof at === 'number') payload[claim] = at - aheadSeconds();
          }
        },
      },
    },
    features: {
      clientCredentials: { enabled: true },
      introspection: {
        enabled: true,
        // The library knows if the grant is revoked, but not if the account is active.
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
          const scopes: readonly string[] = getGrantableScopes(client, { alone });
          const requested = String(ctx.oidc.params?.scope);
          if (alone && !requested.split(' ').some((scope) => scopes.includes(scope)))
            throw new errors.InvalidScope('the account of the client cannot hold the scope', requested);
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
      userinfo_endpoint: `${issuer}${OAUTH_PATHS.userinfo}`,
      end_session_endpoint: `${issuer}${OAUTH_PATHS.logout}`,
      revocation_endpoint_auth_methods_supported: [...CLIENT_AUTHENTICATION],
      introspection_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION.filter((name) => name !== 'none'),
    },
  };
}

/**
 * A provider signs with one key for its lifetime, so another key needs another provider.
 * @returns a function that returns the provider of the current signing key, and throws DatabaseError
 */
export function createProviderSource(options: ProviderOptions) {
  let made: { readonly name: string; readonly provider: Provider } | undefined;

  return async (): Promise<Provider> => {
    // Node caches the modules.
    const [library, signer] = await Promise.all([loadLibrary(), options.keys.signer()]);
    const issuer = options.issuer();
    const name = `${issuer} ${signer.id}`;
    if (made?.name !== name) {
      const provider = new library.Provider(issuer, configure(library, issuer, signer, options));
      Object.defineProperty(provider.Client.prototype, 'compareClientSecret', {
        value(this: { readonly clientSecret: string }, presented: string): boolean {
          return matchesSecret(presented, Buffer.from(this.clientSecret, 'base64url'));
        },
      });
      watchProvider(provider, options.log);
      made = { name, provider };
    }
    return made.provider;
  };
}
