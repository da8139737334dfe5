import type { KeyObject } from 'node:crypto';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FlattenedJWSInput,
  type JWTHeaderParameters,
} from 'jose';
import { parsePublicKeys } from '../../platform/public-keys.ts';

/** The algorithms of contract section 3. */
export type Algorithm = 'HS256' | 'RS256' | 'ES256';

export type VerificationKey = KeyObject | CryptoKey | Uint8Array;

/** The keys could not be fetched: nothing is known of the token, so it is neither good nor bad. */
export class KeysUnavailableError extends Error {
  constructor(cause: unknown) {
    super('the keys to verify tokens with cannot be fetched', { cause });
    this.name = 'KeysUnavailableError';
  }
}

/**
 * Keys to verify tokens with. A key is bound to its algorithm, never to what a token claims (RFC 8725 section 3.1):
 * asked for another one, it is not there.
 */
export interface KeySource {
  /** The keys that may have signed the token. Throws KeysUnavailableError. */
  candidates(
    algorithm: Algorithm,
    header: JWTHeaderParameters,
    token: FlattenedJWSInput,
  ): AsyncIterable<VerificationKey>;
}

/** A secret of the two sides, for HS256 and for nothing else. */
export function secretKey(secret: string): KeySource {
  const key = new TextEncoder().encode(secret);
  return {
    async *candidates(algorithm) {
      if (algorithm === 'HS256') yield key;
    },
  };
}

/** Public keys from the settings: an RSA key is for RS256, an EC key for ES256. */
export function publicKeys(pem: string): KeySource {
  const keys = parsePublicKeys(pem);
  return {
    async *candidates(algorithm) {
      for (const known of keys) if (known.algorithm === algorithm) yield known.key;
    },
  };
}

/** Between two fetches for the sake of an unknown `kid`: anybody can make one up. */
const COOL_DOWN_MS = 30_000;
const MAX_AGE_MS = 600_000;
const FETCH_TIMEOUT_MS = 2_000;
/** After a failed fetch the server is left alone for this long. */
const BACK_OFF_MS = 1_000;

/** Fetches, but not again right after a failure: an outage must not cost every request the timeout. */
function backingOff(): typeof fetch {
  let failure: { readonly error: unknown; readonly untilMs: number } | undefined;
  return async (input, init) => {
    if (failure !== undefined && performance.now() < failure.untilMs) throw failure.error;
    try {
      const response = await fetch(input, init);
      if (response.status !== 200) throw new Error(`the key set was answered with ${response.status}`);
      failure = undefined;
      return response;
    } catch (error) {
      failure = { error, untilMs: performance.now() + BACK_OFF_MS };
      throw error;
    }
  };
}

const MIN_RSA_BITS = 2_048;

/** Whether an RSA key is too short for RS256 (RFC 7518 section 3.3): whoever can break it can sign. */
function isWeak({ algorithm }: CryptoKey): boolean {
  const { modulusLength } = algorithm as { modulusLength?: number };
  return modulusLength !== undefined && modulusLength < MIN_RSA_BITS;
}

/** A key set at an address (RFC 7517), fetched with the first token, kept, and fetched again for an unknown `kid`. */
export function remoteKeys(url: string): KeySource {
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
