import { createPublicKey, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import type { KeySource } from '../../auth/jwt/key-source.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import type { Sealer } from '../../platform/sealing.ts';
import { createSigningKey, listSigningKeys, type SigningKey, signerOf } from './signing-keys.ts';

/** Maximum age of the known keys: rotation reaches every instance within seconds. */
const MAX_AGE_MS = 1_000;
/** Verification may use a known key for longer: no key is removed before its last token has expired. */
const MAX_AGE_TO_VERIFY_MS = 60_000;

/**
 * The service's own signing keys as known to one instance. The database has them; nothing is cached for long.
 */
export interface KeyRing {
  /** The key to sign with, created if there is none. Throws DatabaseError. */
  signer(): Promise<SigningKey>;
  /** The published key set (RFC 7517), including the key to sign with. Throws DatabaseError. */
  published(): Promise<readonly JWK[]>;
  /** The public key of a `kid`, read from the database if unknown. Throws DatabaseError. */
  publicKey(kid: string): Promise<KeyObject | undefined>;
  /** The same for verifying a token by its header. */
  readonly source: KeySource;
}

interface Known {
  readonly keys: readonly SigningKey[];
  readonly byKid: ReadonlyMap<string, KeyObject>;
  readonly atMs: number;
}

export interface KeyRingOptions {
  readonly database: Queryable;
  /** Called when the first key is needed: the secret may have to be created. */
  readonly sealer: () => Sealer;
  readonly clock: Clock;
  readonly log: Logger;
}

export function createKeyRing({ database, sealer, clock, log }: KeyRingOptions): KeyRing {
  let known: Known | undefined;
  let reading: Promise<Known> | undefined;
  let making: Promise<Known> | undefined;

  /** Concurrent callers share one read. */
  function read(): Promise<Known> {
    reading ??= (async () => {
      const atMs = clock.elapsedMs();
      const keys = await listSigningKeys(database, sealer());
      const byKid = new Map(
        keys.map(
          ({ id, publicJwk }) => [id, createPublicKey({ key: publicJwk as object, format: 'jwk' })] as const,
        ),
      );
      known = { keys, byKid, atMs };
      return known;
    })().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  /** A read in flight may have started before the key existed, so it is awaited and repeated. */
  async function readAnew(): Promise<Known> {
    await reading;
    return read();
  }

  /** Creates a key that signs at once. Concurrent callers share it. */
  function make(): Promise<Known> {
    making ??= (async () => {
      await createSigningKey(database, sealer(), 0);
      return readAnew();
    })().finally(() => {
      making = undefined;
    });
    return making;
  }

  const noOlderThan = async (ms: number): Promise<Known> =>
    known !== undefined && clock.elapsedMs() - known.atMs < ms ? known : read();

  async function publicKey(kid: string): Promise<KeyObject | undefined> {
    const { byKid } = await noOlderThan(MAX_AGE_TO_VERIFY_MS);
    // The key may be new. Like an unknown API key it costs one look-up.
    return byKid.get(kid) ?? (await readAnew()).byKid.get(kid);
  }

  async function signer(): Promise<SigningKey> {
    const { keys } = await noOlderThan(MAX_AGE_MS);
    let found = signerOf(keys);
    if (found === undefined) {
      if (keys.length > 0)
        log.warn('the signing keys are encrypted under another SECRET_KEY: a new key takes over');
      found = signerOf((await make()).keys);
    }
    if (found === undefined) throw new Error('the new signing key was not found');
    return found;
  }

  return {
    signer,
    async published() {
      // Never publish an empty set: whoever caches it refuses the first tokens.
      await signer();
      const { keys } = await noOlderThan(MAX_AGE_MS);
      return keys.map(({ id, publicJwk }) => ({ ...publicJwk, kid: id, alg: 'ES256', use: 'sig' }));
    },
    publicKey,
    source: {
      async *candidates(algorithm, { kid }) {
        if (algorithm !== 'ES256' || typeof kid !== 'string') return;
        const key = await publicKey(kid);
        if (key !== undefined) yield { id: kid, key };
      },
    },
  };
}
