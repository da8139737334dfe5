import type { AdapterPayload, Client } from 'oidc-provider';
import { isScope, type Role, type Scope, scopesOfRole } from '../../auth/scopes.ts';
import { type ClientRow, isGrant } from '../records/clients.ts';
import { isNative } from '../records/redirect-uri.ts';

/** Our own metadata member: the role of the account that the client acts for when there is no user. */
export const OWNER_ROLE = 'owner_role';

/**
 * A client in the library's terms (RFC 7591). `client_secret` holds the hash of the secret, which is not
 * secret itself: the presented secret is hashed before the two are compared.
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
    // Native apps may use any port of a loopback address (RFC 8252 section 7.3). Their users are asked each
    // time.
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

/**
 * Whether other apps can pose as this client: an app on a device, without a secret (RFC 8252 section 8.6).
 */
export function canBeImpersonated(client: Client): boolean {
  return isPublic(client) && client.applicationType === 'native';
}

/** The most that the client can be granted. Acting alone, it gets no more than its owner holds. */
export function scopesOf(client: Client, { alone }: { readonly alone: boolean }): Scope[] {
  const own = (client.scope ?? '').split(' ').filter(isScope);
  if (!alone) return own;
  const held = scopesOfRole((client as unknown as Record<string, Role>)[OWNER_ROLE] ?? 'member');
  return own.filter((scope) => held.includes(scope));
}
