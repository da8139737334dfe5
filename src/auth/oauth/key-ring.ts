import { createPublicKey, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import type { Sealer } from '../../platform/sealing.ts';
import type { KeySource } from '../jwt/keys.ts';
import { createSigningKey, listSigningKeys, type SigningKey, signerOf } from './signing-keys.ts';

/** What is known of the keys may be so old: rotation reaches every instance within seconds. */
const MAX_AGE_MS = 1_000;
/** A key that is known stays good for minutes after it was last seen: no key goes before its last token has expired. */
const MAX_AGE_TO_VERIFY_MS = 60_000;

/** The service's own signing keys as one instance knows them. The database has them; nothing is kept for long. */
export interface KeyRing {
  /** The key to sign with, which is made where there is none. Throws DatabaseError. */
  signer(): Promise<SigningKey>;
  /** The key set as it is published (RFC 7517), with the key to sign with in it. Throws DatabaseError. */
  published(): Promise<readonly JWK[]>;
  /** The public key of a `kid`, asked for in the database where it is not known. Throws DatabaseError. */
  publicKey(kid: string): Promise<KeyObject | undefined>;
  /** The same for the verification of a token by its header. */
  readonly source: KeySource;
}

interface Known {
  readonly keys: readonly SigningKey[];
  readonly byKid: ReadonlyMap<string, KeyObject>;
  readonly atMs: number;
}

export interface KeyRingOptions {
  readonly database: Queryable;
  /** Asked for when the first key is needed: the secret may have to be made. */
  readonly sealer: () => Sealer;
  readonly clock: Clock;
  readonly log: Logger;
}

export function createKeyRing({ database, sealer, clock, log }: KeyRingOptions): KeyRing {
  let known: Known | undefined;
  let reading: Promise<Known> | undefined;
  let making: Promise<Known> | undefined;

  /** Those who ask at once share one look. */
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

  /** A look that is under way may have begun before what is looked for was there. */
  async function readAnew(): Promise<Known> {
    await reading;
    return read();
  }

  /** Makes a key that signs at once. Those who miss one at the same time share it. */
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
    // It may have been made meanwhile: like an unknown API key it costs one look.
    return byKid.get(kid) ?? (await readAnew()).byKid.get(kid);
  }

  async function signer(): Promise<SigningKey> {
    const { keys } = await noOlderThan(MAX_AGE_MS);
    let found = signerOf(keys);
    if (found === undefined) {
      if (keys.length > 0)
        log.warn('the signing keys are encrypted under another SECRET_KEY: a new one takes over');
      found = signerOf((await make()).keys);
    }
    if (found === undefined) throw new Error('a signing key that was made is not there');
    return found;
  }

  return {
    signer,
    async published() {
      // Never an empty set: whoever keeps one refuses the first tokens.
      await signer();
      const { keys } = await noOlderThan(MAX_AGE_MS);
      return keys.map(({ id, publicJwk }) => ({ ...publicJwk, kid: id, alg: 'ES256', use: 'sig' }));
    },
    publicKey,
    source: {
      async *candidates(algorithm, { kid }) {
        const key = algorithm === 'ES256' && typeof kid === 'string' ? await publicKey(kid) : undefined;
        if (key !== undefined) yield key;
      },
    },
  };
}
