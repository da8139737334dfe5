import type { Author } from '../database/unit-of-work.ts';
import type { ApiKey } from '../generated/tables.ts';
import type { Config } from '../platform/config/config.ts';
import { ApiError, unauthenticated } from '../platform/errors.ts';
import { formatIpOwner } from '../platform/ip-address.ts';
import { ANONYMOUS_SCOPES, type Role, type Scope } from './scopes.ts';

export const STRICTER_DOCUMENTS = ['listed', 'required'] as const;
export type StricterDocuments = (typeof STRICTER_DOCUMENTS)[number];

/**
 * The account behind a request and the permissions of its credentials. Code behind authentication sees
 * nothing else of the credentials.
 */
export interface Principal {
  readonly kind: string;
  readonly userId: string;
  readonly role: Role;
  readonly scopes: ReadonlySet<Scope>;
  /** Names the rate limit bucket, the streams and the usage report of the caller. The name is not secret. */
  readonly clientId: string;
  /**
   * Identifies the credential for later look-ups: a row's id, a token's `jti`, or several ids separated by
   * spaces. The id is not secret.
   */
  readonly credentialId: string | undefined;
  readonly rateLimit: { readonly burst?: number; readonly perSecond?: number } | undefined;
  /** The document policy of the credentials, if it is stricter than the service's. */
  readonly documents?: StricterDocuments | undefined;
  /** Milliseconds since the epoch; undefined if the credentials do not expire. */
  readonly expiresAtMs: number | undefined;
  /** The `iat` claim of a JWT, in milliseconds since the epoch. */
  readonly issuedAtMs?: number;
  /**
   * The key that signed a JWT of an external issuer. The JWT is revoked when the issuer withdraws the key.
   * The id is not secret.
   */
  readonly keyId?: string;
  readonly streamTokenId?: string;
}

/** A caller without credentials. It has scopes only if ANONYMOUS_READ is on. */
export interface Anonymous {
  readonly kind: 'anonymous';
  readonly scopes: ReadonlySet<Scope>;
}

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

export function authorOf(caller: Caller, requestId: string): Author {
  if (!isAuthenticated(caller)) return { actorId: null, via: caller.kind, requestId };
  const { kind, userId, credentialId } = caller;
  return { actorId: userId, via: credentialId === undefined ? kind : `${kind}:${credentialId}`, requestId };
}

export const SESSION = 'session';

/** Some operations require a session of this service. */
export function isSession(
  caller: Caller | undefined,
): caller is Principal & { readonly kind: typeof SESSION } {
  return caller?.kind === SESSION;
}

/** True if a token has expired by its claim. The database decides about stored credentials. */
export function hasExpired({ expiresAtMs }: Principal, nowMs: number): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= nowMs;
}

export interface StoredOverrides extends Pick<ApiKey, 'burst' | 'perSecond'> {
  readonly documents: StricterDocuments | null;
}

export function overridesOf(stored: StoredOverrides): Pick<Principal, 'rateLimit' | 'documents'> {
  const { burst, perSecond, documents } = stored;
  const rateLimit = { ...(burst === null ? {} : { burst }), ...(perSecond === null ? {} : { perSecond }) };
  return {
    rateLimit: burst === null && perSecond === null ? undefined : rateLimit,
    documents: documents ?? undefined,
  };
}

/** A user's logins share one bucket (contract: limits). */
export function userClientId(userId: string): string {
  return `${userId}:user`;
}

export interface ClientIdentity {
  readonly caller: Caller | undefined;
  readonly clientAddress: string;
}

/** @returns undefined without credentials */
export function clientIdOf({ caller }: Pick<ClientIdentity, 'caller'>): string | undefined {
  return isAuthenticated(caller) ? caller.clientId : undefined;
}

/** Without credentials, the client is the IP address. A client cannot choose the name. */
export function clientOf(state: ClientIdentity): string {
  return clientIdOf(state) ?? formatIpOwner(state.clientAddress);
}

/**
 * Reports for operators do not distinguish users. They name keys and applications by id, and other
 * credentials by kind.
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

/** @returns undefined without credentials */
export function accountOf({ caller }: Pick<ClientIdentity, 'caller'>): string | undefined {
  return isAuthenticated(caller) ? caller.userId : undefined;
}

/** Memory is charged to the account, independent of the credential, or else to the IP address. */
export function chargedTo(state: ClientIdentity): string {
  return accountOf(state) ?? clientOf(state);
}

/** False if the caller may only introspect the schema. */
export function canExecute(caller: Caller | undefined): boolean {
  return isAuthenticated(caller) || (caller?.scopes.size ?? 0) > 0;
}

export function credentialsFailed({ error }: { readonly error: unknown }): boolean {
  return error instanceof ApiError && error.code === 'UNAUTHENTICATED';
}

/**
 * Rejects a request that needs credentials and has none. RFC 6750 §3 requires a challenge without an
 * error code.
 * @param subject the part of the request that needs credentials, if not the whole request
 */
export function credentialsMissing(subject?: string) {
  const message = subject === undefined ? 'Credentials are required' : `${subject} requires credentials`;
  return unauthenticated(`${message}, for example an API key as "Authorization: Bearer <key>".`);
}
