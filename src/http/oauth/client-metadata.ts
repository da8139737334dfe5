import type { AdapterPayload, Client } from 'oidc-provider';
import { type ClientRow, isGrant } from '../../auth/oauth/clients.ts';
import { isNative } from '../../auth/oauth/redirect-uri.ts';
import { isScope, type Role, type Scope, scopesOfRole } from '../../auth/scopes.ts';

/** A member of the metadata that is ours: the role of the account that the client acts for where there is no user. */
export const OWNER_ROLE = 'owner_role';

/**
 * A client in the library's terms (RFC 7591). In the place of the secret stands its hash, which is no secret: what is
 * presented is hashed before the two are compared.
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
    // Native apps get any port of a loopback address (RFC 8252 section 7.3), and are asked about each time.
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

/** Whether nobody can tell that it is this client which asks: an app on a device that has no secret (RFC 8252 section 8.6). */
export function canBeImpersonated(client: Client): boolean {
  return isPublic(client) && client.applicationType === 'native';
}

/** What the client can be given at most; alone, as far as its owner holds it. */
export function scopesOf(client: Client, { alone }: { readonly alone: boolean }): Scope[] {
  const own = (client.scope ?? '').split(' ').filter(isScope);
  if (!alone) return own;
  const held = scopesOfRole((client as unknown as Record<string, Role>)[OWNER_ROLE] ?? 'member');
  return own.filter((scope) => held.includes(scope));
}
