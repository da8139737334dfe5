import type { Role, Scope } from './scopes.ts';

/** The account behind a request, and what its credentials allow. Everything past authentication sees only this. */
export interface Principal {
  readonly kind: 'api-key' | 'session' | 'jwt' | 'oauth';
  readonly userId: string;
  readonly role: Role;
  readonly scopes: ReadonlySet<Scope>;
  /** The bucket, the streams and the usage report of this caller go under this name. It holds no secret. */
  readonly clientId: string;
  /** Names the credential among those of its kind, to look it up by again: a row's id, a token's jti. No secret. */
  readonly credentialId: string | undefined;
  /** What of the rate limit was raised or lowered for these credentials. */
  readonly rateLimit: { readonly burst?: number; readonly perSecond?: number } | undefined;
  /** When the credentials end at the latest, in milliseconds since the epoch; undefined where they don't. */
  readonly expiresAtMs: number | undefined;
}

/** A caller without credentials. It holds scopes only where ANONYMOUS_READ is on. */
export interface Anonymous {
  readonly kind: 'anonymous';
  readonly scopes: ReadonlySet<Scope>;
}

/** The caller of every request without credentials. */
export function anonymousCaller({ anonymousRead }: { readonly anonymousRead: boolean }): Anonymous {
  return { kind: 'anonymous', scopes: new Set<Scope>(anonymousRead ? ['posts:read'] : []) };
}

export type Caller = Principal | Anonymous;

export function isAuthenticated(caller: Caller): caller is Principal {
  return caller.kind !== 'anonymous';
}

/** The bucket of a person, however signed in (contract section 5: the user behind the credentials). */
export function userClientId(userId: string): string {
  return `${userId}:user`;
}
