import type { KeyObject } from 'node:crypto';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FlattenedJWSInput,
  type JWTHeaderParameters,
} from 'jose';
import type { Config } from '../../platform/config.ts';
import { parsePublicKeys } from '../../platform/public-keys.ts';

/** The algorithms of contract section 3. */
export type Algorithm = 'HS256' | 'RS256' | 'ES256';

export type VerificationKey = KeyObject | CryptoKey | Uint8Array;

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
  candidates(
    algorithm: Algorithm,
    header: JWTHeaderParameters,
    token: FlattenedJWSInput,
  ): AsyncIterable<VerificationKey>;
}

/** A shared secret, for HS256 only. */
function secretKey(secret: string): KeySource {
  const key = new TextEncoder().encode(secret);
  return {
    async *candidates(algorithm) {
      if (algorithm === 'HS256') yield key;
    },
  };
}

/** Public keys from the settings: RSA keys for RS256, EC keys for ES256. */
function publicKeys(pem: string): KeySource {
  const keys = parsePublicKeys(pem);
  return {
    async *candidates(algorithm) {
      for (const known of keys) if (known.algorithm === algorithm) yield known.key;
    },
  };
}

/** Minimum time between fetches for an unknown `kid`, which anybody can make up. */
const COOL_DOWN_MS = 30_000;
const MAX_AGE_MS = 600_000;
const FETCH_TIMEOUT_MS = 2_000;
/** Time without a fetch after a failed one. */
const BACK_OFF_MS = 1_000;

/** Fetches, but not right after a failure: an outage must not cost every request the timeout. */
function backingOff(): typeof fetch {
  let failure: { readonly error: unknown; readonly untilMs: number } | undefined;
  return async (input, init) => {
    if (failure !== undefined && performance.now() < failure.untilMs) throw failure.error;
    try {
      const response = await fetch(input, init);
      if (response.status !== 200) throw new Error(`fetching the key set returned status ${response.status}`);
      failure = undefined;
      return response;
    } catch (error) {
      failure = { error, untilMs: performance.now() + BACK_OFF_MS };
      throw error;
    }
  };
}

const MIN_RSA_BITS = 2_048;

/** Whether an RSA key is too short for RS256 (RFC 7518 section 3.3): whoever breaks it can sign. */
function isWeak({ algorithm }: CryptoKey): boolean {
  const { modulusLength } = algorithm as { modulusLength?: number };
  return modulusLength !== undefined && modulusLength < MIN_RSA_BITS;
}

/**
 * A remote key set (RFC 7517): fetched with the first token, cached, and fetched again for an unknown `kid`.
 */
function remoteKeys(url: string): KeySource {
  const keys = createRemoteJWKSet(new URL(url), {
    cooldownDuration: COOL_DOWN_MS,
    cacheMaxAge: MAX_AGE_MS,
    timeoutDuration: FETCH_TIMEOUT_MS,
    [customFetch]: backingOff(),
  });
  return {
    async *candidates(algorithm, header, token) {
      if (algorithm === 'HS256') return;
      try {
        const key = await keys(header, token);
        if (!isWeak(key)) yield key;
      } catch (error) {
        if (error instanceof errors.JWKSNoMatchingKey) return;
        if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw new KeysUnavailableError(error);
        for await (const key of error) if (!isWeak(key)) yield key;
      }
    },
  };
}

/** The keys that the settings name. */
export function keySources({ secret, publicKey, jwksUrl }: Config['jwt']): KeySource[] {
  return [
    ...(secret === undefined ? [] : [secretKey(secret)]),
    ...(publicKey === undefined ? [] : [publicKeys(publicKey)]),
    ...(jwksUrl === undefined ? [] : [remoteKeys(jwksUrl)]),
  ];
}
