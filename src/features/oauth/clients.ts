import type { AdapterPayload, Client } from 'oidc-provider';
import type { StricterDocuments } from '../../auth/principal.ts';
import { type ClientScope, isIdentityScope, isScope, type Role, scopesOfRole } from '../../auth/scopes.ts';
import { hashSecret, secretFormat } from '../../auth/secrets.ts';
import {
  formatColumns,
  pickColumns,
  type Queryable,
  type RowOf,
  statement,
} from '../../database/statement.ts';
import { oauthClients } from '../../generated/tables.ts';
import { OperatorError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);
const MAX_LENGTH = 2_000;
/** RFC 8252 §7.1: a private-use scheme is a domain name in reverse order. */
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/;

/** True for an app on the user's device (RFC 8252 §7). */
function isNative(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol !== 'https:' && (protocol !== 'http:' || LOOPBACK.has(hostname));
}

/**
 * Codes are sent to the URI, so it must use https or lead to the user's own device (RFC 9700 §2.1, RFC 8252
 * §7).
 * @returns the problem, worded to follow the URI in a sentence; undefined if the URI is valid
 */
function redirectUriProblem(uri: string): string | undefined {
  const parsed = URL.parse(uri);
  if (parsed === null || uri.length > MAX_LENGTH || !/^[\x21-\x7e]+$/.test(uri)) return 'is not a valid URI.';
  const { protocol, hostname, username, password } = parsed;
  if (uri.includes('#')) return 'must not contain a fragment.';
  if (uri.includes('*')) return 'must not contain wildcards: it is compared exactly.';
  if (username !== '' || password !== '') return 'must not contain a user name or password.';
  if (protocol === 'https:')
    return LOOPBACK.has(hostname) ? 'must be http on a loopback address.' : undefined;
  if (protocol === 'http:')
    return LOOPBACK.has(hostname)
      ? undefined
      : 'must be https; http is allowed for 127.0.0.1, [::1] and localhost only.';
  return PRIVATE_USE_SCHEME.test(protocol)
    ? undefined
    : 'must be https, http on a loopback address, or a private-use scheme such as com.example.app.';
}

/** Older secrets begin with `cgs_` and stay valid, because only their hash counts. */
const CLIENT_SECRET = secretFormat('cgc_');

export const GRANT_TYPES = ['client_credentials', 'authorization_code', 'refresh_token'] as const;
export type GrantType = (typeof GRANT_TYPES)[number];

function isGrant(value: string): value is GrantType {
  return (GRANT_TYPES as readonly string[]).includes(value);
}

/** The message is shown to the requester. */
class ClientError extends OperatorError {}

export interface NewClient {
  readonly owner: { readonly id: string; readonly role: Role };
  readonly name: string;
  readonly grants: readonly GrantType[];
  readonly scopes: readonly ClientScope[];
  readonly redirectUris?: readonly string[] | undefined;
  readonly postLogoutRedirectUris?: readonly string[] | undefined;
  /** A public client has no secret, because an app on a device or in a browser could not protect it. */
  readonly public?: boolean;
  readonly burst?: number | undefined;
  readonly perSecond?: number | undefined;
  readonly documents?: StricterDocuments | undefined;
}

/** @param redirectUris all redirect URIs, including those after a logout */
function check({ owner, grants, scopes, ...client }: NewClient, redirectUris: readonly string[]) {
  const has = (grant: GrantType) => grants.includes(grant);
  if (has('authorization_code') && (client.redirectUris ?? []).length === 0)
    throw new ClientError('A client with the authorization_code grant needs a redirect URI.');
  if (!has('authorization_code') && redirectUris.length > 0)
    throw new ClientError('Redirect URIs require the authorization_code grant.');
  if (!has('authorization_code') && !has('client_credentials'))
    throw new ClientError('Refresh tokens require the authorization_code grant: add that grant.');
  if (client.public && has('client_credentials'))
    throw new ClientError('A public client has no credentials: it cannot have the client_credentials grant.');
  if (!has('authorization_code') && scopes.some(isIdentityScope))
    throw new ClientError('The scopes openid, profile and email require the authorization_code grant.');
  for (const uri of redirectUris) {
    const problem = redirectUriProblem(uri);
    if (problem !== undefined) throw new ClientError(`The redirect URI "${uri}" ${problem}`);
  }
  const held = scopesOfRole(owner.role);
  const beyond = scopes.filter((scope) => isScope(scope) && !held.includes(scope));
  // A client that acts for a user has the user's role. A client that acts alone never has more scopes than
  // its owner.
  if (!has('authorization_code') && beyond.length > 0)
    throw new ClientError(`The owner has the role ${owner.role} and cannot hold ${beyond.join(', ')}.`);
}

const INSERT = statement<never>(
  'oauth_client_insert',
  `INSERT INTO oauth_clients (id, owner_id, name, grants, scopes, redirect_uris, post_logout_redirect_uris, secret_hash, burst, per_second, documents)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
);

/**
 * The database stores only the hash of the returned secret.
 * @throws {ClientError}
 * @throws {DatabaseError}
 */
export async function createOAuthClient(
  db: Queryable,
  client: NewClient,
): Promise<{ client_id: string; client_secret?: string }> {
  const { redirectUris = [], postLogoutRedirectUris = [] } = client;
  check(client, [...redirectUris, ...postLogoutRedirectUris]);
  const secret = client.public ? undefined : CLIENT_SECRET.generate();
  const id = newId();
  await db.query(INSERT, [
    id,
    client.owner.id,
    client.name,
    client.grants,
    client.scopes,
    [...new Set(redirectUris)],
    [...new Set(postLogoutRedirectUris)],
    secret === undefined ? null : hashSecret(secret),
    client.burst ?? null,
    client.perSecond ?? null,
    client.documents ?? null,
  ]);
  return { client_id: id, ...(secret === undefined ? {} : { client_secret: secret }) };
}

const DELETE = statement<{ ownerId: string }>(
  'oauth_client_delete',
  'DELETE FROM oauth_clients WHERE id = $1 RETURNING owner_id AS "ownerId"',
);

/**
 * The client's grants and tokens are deleted, too.
 * @returns the owner; undefined if the client does not exist
 * @throws {DatabaseError}
 */
export async function deleteOAuthClient(db: Queryable, id: string): Promise<string | undefined> {
  return (await db.query(DELETE, [id]))[0]?.ownerId;
}

const metadataColumns = pickColumns(oauthClients, [
  'id',
  'name',
  'grants',
  'scopes',
  'redirectUris',
  'postLogoutRedirectUris',
  'secretHash',
]);

type ClientRow = RowOf<typeof metadataColumns> & { readonly ownerRole: Role };

const FIND_CLIENT = statement<ClientRow>(
  'oauth_client',
  `SELECT ${formatColumns(metadataColumns, 'c')}, o.role AS "ownerRole"
   FROM oauth_clients c JOIN users o ON o.id = c.owner_id WHERE c.id = $1 AND o.disabled_at IS NULL`,
);

/**
 * The client of a disabled owner counts as deleted.
 * @param id the `client_id`, a UUID
 * @throws {DatabaseError}
 */
export async function findOAuthClient(db: Queryable, id: string): Promise<ClientRow | undefined> {
  return (await db.query(FIND_CLIENT, [id]))[0];
}

/** The metadata member with the role of the client's owner, for requests without a user. */
export const OWNER_ROLE = 'owner_role';

/**
 * The library's metadata (RFC 7591) has the hash of the secret in `client_secret`. The presented secret is
 * hashed before the library compares the two.
 */
export function clientMetadata(row: ClientRow): AdapterPayload {
  const { id, name, grants, scopes, redirectUris, secretHash, ownerRole } = row;
  const metadata = {
    client_id: id,
    client_name: name,
    grant_types: grants.filter(isGrant),
    response_types: grants.includes('authorization_code') ? (['code'] as const) : [],
    redirect_uris: redirectUris,
    scope: scopes.join(' '),
    // Native apps may use any port of a loopback address (RFC 8252 §7.3). Their users are asked each time.
    application_type: redirectUris.some(isNative) ? ('native' as const) : ('web' as const),
    [OWNER_ROLE]: ownerRole,
  };
  if (secretHash === null) return { ...metadata, token_endpoint_auth_method: 'none' };
  return {
    ...metadata,
    token_endpoint_auth_method: 'client_secret_basic',
    client_secret: secretHash.toString('base64url'),
  };
}

export function isPublic(client: Client): boolean {
  return client.clientAuthMethod === 'none';
}

/** True if other apps can pose as the client: an app on a device, without a secret (RFC 8252 §8.6). */
export function canBeImpersonated(client: Client): boolean {
  return isPublic(client) && client.applicationType === 'native';
}

/** A client that acts alone gets no more than its owner has, and no user to identify. */
export function getGrantableScopes(client: Client, { alone }: { readonly alone: boolean }): ClientScope[] {
  const scopes = (client.scope ?? '').split(' ');
  const own = scopes.filter(isScope);
  if (!alone) return [...scopes.filter(isIdentityScope), ...own];
  const held = scopesOfRole((client as unknown as Record<string, Role>)[OWNER_ROLE] ?? 'member');
  return own.filter((scope) => held.includes(scope));
}
