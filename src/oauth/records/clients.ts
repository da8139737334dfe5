import type { StricterDocuments } from '../../auth/principal.ts';
import { type Role, type Scope, scopesOfRole } from '../../auth/scopes.ts';
import { hashSecret, secretFormat } from '../../auth/secret-format.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { OperatorError } from '../../platform/operator-error.ts';
import { newId } from '../../platform/uuid.ts';
import { redirectUriProblem } from './redirect-uri.ts';

/** Earlier secrets begin with `cgs_`, and stay valid: only their hash counts. */
const CLIENT_SECRET = secretFormat('cgc_');

export const GRANTS = ['client_credentials', 'authorization_code', 'refresh_token'] as const;
export type Grant = (typeof GRANTS)[number];

export function isGrant(value: string): value is Grant {
  return (GRANTS as readonly string[]).includes(value);
}

/** A client that cannot be created as requested. The message is meant for the requester. */
export class ClientError extends OperatorError {}

export interface NewClient {
  readonly owner: { readonly id: string; readonly role: Role };
  readonly name: string;
  readonly grants: readonly Grant[];
  readonly scopes: readonly Scope[];
  readonly redirectUris: readonly string[];
  /** A public client has no secret: an app on a device or in a browser could not keep one. */
  readonly public: boolean;
  readonly burst?: number | undefined;
  readonly perSecond?: number | undefined;
  readonly documents?: StricterDocuments | undefined;
}

function check({ owner, grants, scopes, redirectUris, ...client }: NewClient): void {
  const has = (grant: Grant) => grants.includes(grant);
  if (has('authorization_code') && redirectUris.length === 0)
    throw new ClientError('A client with the authorization_code grant needs a redirect URI.');
  if (!has('authorization_code') && redirectUris.length > 0)
    throw new ClientError('Redirect URIs require the authorization_code grant.');
  if (!has('authorization_code') && !has('client_credentials'))
    throw new ClientError('Refresh tokens require the authorization_code grant: add that grant.');
  if (client.public && has('client_credentials'))
    throw new ClientError('A public client has no credentials: it cannot have the client_credentials grant.');
  for (const uri of redirectUris) {
    const problem = redirectUriProblem(uri);
    if (problem !== undefined) throw new ClientError(`The redirect URI "${uri}" ${problem}`);
  }
  const held = scopesOfRole(owner.role);
  const beyond = scopes.filter((scope) => !held.includes(scope));
  // When a client acts for a user, the user's role counts. On its own it never has more than its owner
  // (contract section 3).
  if (!has('authorization_code') && beyond.length > 0)
    throw new ClientError(`The owner has the role ${owner.role} and cannot hold ${beyond.join(', ')}.`);
}

const INSERT = statement<never>(
  'oauth_client_insert',
  `INSERT INTO oauth_clients (id, owner_id, name, grants, scopes, redirect_uris, secret_hash, burst, per_second, documents)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);

/** Creates a client. The returned secret is stored nowhere, only its hash. Throws ClientError, DatabaseError. */
export async function createOAuthClient(
  db: Queryable,
  client: NewClient,
): Promise<{ client_id: string; client_secret?: string }> {
  check(client);
  const secret = client.public ? undefined : CLIENT_SECRET.generate();
  const id = newId();
  await db.query(INSERT, [
    id,
    client.owner.id,
    client.name,
    client.grants,
    client.scopes,
    [...new Set(client.redirectUris)],
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

/** Deletes a client with everything it holds, and returns its owner. Undefined if there is none. Throws DatabaseError. */
export async function deleteOAuthClient(db: Queryable, id: string): Promise<string | undefined> {
  return (await db.query(DELETE, [id]))[0]?.ownerId;
}

export interface ClientRow {
  readonly id: string;
  readonly name: string;
  readonly grants: string[];
  readonly scopes: string[];
  readonly redirectUris: string[];
  readonly secretHash: Buffer | null;
  readonly ownerRole: Role;
}

const FIND_CLIENT = statement<ClientRow>(
  'oauth_client',
  `SELECT c.id, c.name, c.grants, c.scopes, c.redirect_uris AS "redirectUris", c.secret_hash AS "secretHash",
     o.role AS "ownerRole"
   FROM oauth_clients c JOIN users o ON o.id = c.owner_id WHERE c.id = $1 AND o.disabled_at IS NULL`,
);

/**
 * A client by its client_id, a UUID. The client of a disabled owner counts as deleted. Throws DatabaseError.
 */
export async function findOAuthClient(db: Queryable, id: string): Promise<ClientRow | undefined> {
  return (await db.query(FIND_CLIENT, [id]))[0];
}
