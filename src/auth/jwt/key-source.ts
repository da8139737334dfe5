import { createHash, type KeyObject } from 'node:crypto';
import type { JWTHeaderParameters } from 'jose';

/** The algorithms of contract section 3. */
export type Algorithm = 'HS256' | 'RS256' | 'ES256';

/** A key to verify tokens with. */
export interface KnownKey {
  /** The same wherever and whenever the key is known. Not secret. */
  readonly id: string;
  readonly key: KeyObject | Uint8Array;
}

/** The keys could not be fetched, so a token can be neither accepted nor rejected. */
export class KeysUnavailableError extends Error {
  constructor(cause: unknown) {
    super('cannot fetch the keys to verify tokens with', { cause });
    this.name = 'KeysUnavailableError';
  }
}

/**
 * Keys to verify tokens with. A key is bound to its algorithm, never to what a token claims (RFC 8725 section
 * 3.1): it is not offered for any other.
 */
export interface KeySource {
  /** The keys that may have signed the token. Throws KeysUnavailableError. */
  candidates(algorithm: Algorithm, header: JWTHeaderParameters): AsyncIterable<KnownKey>;
}

/** Keys of others, who may withdraw them. */
export interface StandingKeys extends KeySource {
  /** Whether a key still counts. Throws KeysUnavailableError. */
  knows(id: string): Promise<boolean>;
  /** The scopes of a token that has no claim with scopes; undefined for all scopes of the role. */
  readonly defaultScopes: readonly string[] | undefined;
}

/** RFC 7638 section 3: a hash of the required members, in the order of their names. */
export function thumbprintOf(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = key.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url');
}
