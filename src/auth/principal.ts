import type { Author } from '../database/unit-of-work.ts';
import type { ApiKey } from '../generated/tables.ts';
import type { Config } from '../platform/config/config.ts';
import { ApiError, unauthenticated } from '../platform/errors.ts';
import { formatIpOwner } from '../platform/ip-address.ts';
import { ANONYMOUS_SCOPES, type Role, type Scope } from './scopes.ts';

/** The policies for documents that credentials may have of their own. */
export const STRICTER_DOCUMENTS = ['listed', 'required'] as const;
export type StricterDocuments = (typeof STRICTER_DOCUMENTS)[number];

/** The account behind a request and what its credentials allow. Nothing past authentication sees more. */
export interface Principal {
  /** The kind of the credentials, named by their strategy. */
  readonly kind: string;
  readonly userId: string;
  readonly role: Role;
  readonly scopes: ReadonlySet<Scope>;
  /** The name of this caller's bucket, streams and usage report. Not secret. */
  readonly clientId: string;
  /**
   * Identifies the credential among those of its kind for later look-ups: a row's id, a token's jti, or ids of all that
   * it depends on, separated by spaces. Not secret.
   */
  readonly credentialId: string | undefined;
  /** Overrides of the rate limit for these credentials. */
  readonly rateLimit: { readonly burst?: number; readonly perSecond?: number } | undefined;
  /** Which documents the credentials may ask for, where that is fewer than the service allows. */
  readonly documents?: StricterDocuments | undefined;
  /** Latest end of the credentials in milliseconds since the epoch; undefined if they do not expire. */
  readonly expiresAtMs: number | undefined;
  /** When a JWT says that it was issued, in milliseconds since the epoch. */
  readonly issuedAtMs?: number;
  /** The key that a JWT of another issuer is signed with: it ends when the issuer withdraws the key. Not secret. */
  readonly keyId?: string;
  /** The id of the stream token through which the credentials are used. */
  readonly streamTokenId?: string;
}

/** A caller without credentials. It has scopes only if ANONYMOUS_READ is on. */
export interface Anonymous {
  readonly kind: 'anonymous';
  readonly scopes: ReadonlySet<Scope>;
}

/** The caller of every request without credentials. */
export function anonymousCaller({ anonymousRead }: Pick<Config, 'anonymousRead'>): Anonymous {
  return { kind: 'anonymous', scopes: new Set(anonymousRead ? ANONYMOUS_SCOPES : []) };
}

export type Caller = Principal | Anonymous;

export function isAnonymous(caller: Caller | undefined): caller is Anonymous {
  return caller?.kind === 'anonymous';
}

export function isAuthenticated(caller: Caller | undefined): caller is Principal {
  return caller !== undefined && !isAnonymous(caller);
}

/** As whom a caller changes something, for the audit log. */
export function authorOf(caller: Caller, requestId: string): Author {
  if (!isAuthenticated(caller)) return { actorId: null, via: caller.kind, requestId };
  const { kind, userId, credentialId } = caller;
  return { actorId: userId, via: credentialId === undefined ? kind : `${kind}:${credentialId}`, requestId };
}

export const SESSION = 'session';

/** Whether the credentials are a session of the service's own, which may do what no others may. */
export function isSession(
  caller: Caller | undefined,
): caller is Principal & { readonly kind: typeof SESSION } {
  return caller?.kind === SESSION;
}

/** True if a token has expired by its claim. The database decides whether stored credentials are valid. */
export function hasExpired({ expiresAtMs }: Principal, nowMs: number): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= nowMs;
}

/** The settings that are stored with credentials. */
export interface StoredOverrides extends Pick<ApiKey, 'burst' | 'perSecond'> {
  readonly documents: StricterDocuments | null;
}

/** Those of a principal. */
export function overridesOf(stored: StoredOverrides): Pick<Principal, 'rateLimit' | 'documents'> {
  const { burst, perSecond, documents } = stored;
  const rateLimit = { ...(burst === null ? {} : { burst }), ...(perSecond === null ? {} : { perSecond }) };
  return {
    rateLimit: burst === null && perSecond === null ? undefined : rateLimit,
    documents: documents ?? undefined,
  };
}

/** The bucket of a user, however signed in (contract section 5: the user behind the credentials). */
export function userClientId(userId: string): string {
  return `${userId}:user`;
}

/** Who sends a request, as far as the service knows. */
export interface ClientIdentity {
  readonly caller: Caller | undefined;
  readonly clientAddress: string;
}

/** The client behind the credentials; undefined without any. */
export function clientIdOf({ caller }: Pick<ClientIdentity, 'caller'>): string | undefined {
  return isAuthenticated(caller) ? caller.clientId : undefined;
}

/** The client that a request counts for: the address, without credentials. Never a value the client chooses. */
export function clientOf(state: ClientIdentity): string {
  return clientIdOf(state) ?? formatIpOwner(state.clientAddress);
}

/**
 * What reports for operators call the client: the id of its key or application, or else the kind of its credentials. Users
 * are not told apart.
 */
export function reportedClient(caller: Caller | undefined): {
  readonly client: string;
  readonly kind: string;
} {
  if (!isAuthenticated(caller)) return { client: 'anonymous', kind: 'anonymous' };
  const { kind, userId, clientId } = caller;
  return {
    client: clientId === userClientId(userId) ? kind : clientId.slice(clientId.lastIndexOf(':') + 1),
    kind,
  };
}

/** The account that a request also counts for; undefined without credentials. */
export function accountOf({ caller }: Pick<ClientIdentity, 'caller'>): string | undefined {
  return isAuthenticated(caller) ? caller.userId : undefined;
}

/**
 * Who the memory of a response counts for: the account, whichever of its credentials is used, or the address.
 */
export function chargedTo(state: ClientIdentity): string {
  return accountOf(state) ?? clientOf(state);
}

/** Whether the caller can do more than introspect the schema. */
export function canExecute(caller: Caller | undefined): boolean {
  return isAuthenticated(caller) || (caller?.scopes.size ?? 0) > 0;
}

/** Whether the credentials were checked and are bad. */
export function credentialsFailed({ error }: { readonly error: unknown }): boolean {
  return error instanceof ApiError && error.code === 'UNAUTHENTICATED';
}

/**
 * Rejects a request that has no credentials and needs them (RFC 6750 section 3: without an error code).
 * @param subject what needs them, if not the whole request
 */
export function credentialsMissing(subject?: string) {
  const message = subject === undefined ? 'Credentials are required' : `${subject} requires credentials`;
  return unauthenticated(`${message}, for example an API key as "Authorization: Bearer <key>".`, {
    'www-authenticate': 'Bearer',
  });
}
