import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { KeySource } from '../../auth/jwt-keys.ts';
import { secretKeyOf } from '../../database/embedded/data-dir.ts';
import type { Job } from '../../database/jobs.ts';
import { formatColumns, type Queryable, statement } from '../../database/statement.ts';
import { type OAuthSigningKey, oauthSigningKeys } from '../../generated/tables.ts';
import type { Config } from '../../platform/config/config.ts';
import { createEncryptor, type Encryptor } from '../../platform/crypto.ts';
import type { FeatureServices } from '../feature.ts';

/** Reads or creates the service's secret. */
export const createSigningKeyEncryptor = (config: Pick<Config, 'secretKey' | 'dataDir'>): Encryptor =>
  createEncryptor(secretKeyOf(config), 'OAuth signing keys');

export const ACCESS_TOKEN_SECONDS = 900;
/** A new key is published this long before it signs, so that no client meets a token of an unknown key. */
const PUBLISH_AHEAD_MS = 10_000;
/** A retired key is retained until its last token has expired, with a margin for wrong clocks. */
const RETENTION_MS = ACCESS_TOKEN_SECONDS * 1000 + 120_000;
/**
 * A key under another secret may still sign on another instance, during the rollout of a new secret. In
 * development, each data directory may have a separate secret, so the time is longer. A newer key under the
 * same secret lets the key be deleted earlier.
 */
const FOREIGN_RETENTION_MS = { production: 86_400_000, otherwise: 30 * 86_400_000 };

interface KeyRow extends OAuthSigningKey {
  readonly publicJwk: JWK;
  /** True once `signsFrom` has passed, by the database's clock. */
  readonly started: boolean;
}

export interface SigningKey extends Omit<KeyRow, 'privateKey'> {
  /** False if the key is encrypted under another secret. */
  readonly usable: boolean;
  /** @throws if the key is not usable */
  open(): KeyObject;
}

const LIST = statement<KeyRow>(
  'oauth_keys',
  `SELECT ${formatColumns(oauthSigningKeys)}, signs_from <= now() AS "started"
   FROM oauth_signing_keys ORDER BY signs_from, id`,
);
const INSERT = statement<{ signsFrom: Date }>(
  'oauth_key_insert',
  `INSERT INTO oauth_signing_keys (id, public_jwk, private_key, sealed_by, created_at, signs_from)
   VALUES ($1, $2::jsonb, $3, $4, now(), now() + $5::float8 * interval '1 millisecond') RETURNING signs_from AS "signsFrom"`,
);
const DROP = statement<{ id: string }>(
  'oauth_key_drop',
  'DELETE FROM oauth_signing_keys WHERE id = $1 RETURNING id',
);
const PRUNE = statement<{ id: string }>(
  'oauth_keys_prune',
  `DELETE FROM oauth_signing_keys k WHERE EXISTS (
     SELECT FROM oauth_signing_keys n WHERE n.signs_from > k.signs_from
       AND n.signs_from <= CASE WHEN n.sealed_by = k.sealed_by THEN now() - $1::float8 * interval '1 millisecond'
         ELSE now() - $2::float8 * interval '1 millisecond' END
   ) RETURNING id`,
);

function asKey({ privateKey, ...key }: KeyRow, encryptor: Encryptor): SigningKey {
  return {
    ...key,
    usable: key.sealedBy === encryptor.name,
    open: () =>
      createPrivateKey({ key: encryptor.decrypt(privateKey, key.id), format: 'der', type: 'pkcs8' }),
  };
}

/**
 * The list includes future keys, in the order in which the keys sign.
 * @throws {DatabaseError}
 */
export async function listSigningKeys(db: Queryable, encryptor: Encryptor): Promise<SigningKey[]> {
  return (await db.query(LIST, [])).map((row) => asKey(row, encryptor));
}

export async function createSigningKey(db: Queryable, encryptor: Encryptor, signsInMs: number) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicJwk = publicKey.export({ format: 'jwk' }) as JWK;
  const id = await calculateJwkThumbprint(publicJwk);
  const encrypted = encryptor.encrypt(privateKey.export({ format: 'der', type: 'pkcs8' }), id);
  const [row] = await db.query(INSERT, [id, JSON.stringify(publicJwk), encrypted, encryptor.name, signsInMs]);
  return { id, signsFrom: row?.signsFrom };
}

/** The new key takes over once all clients had time to fetch it. All tokens stay valid. */
export function rotateSigningKey(db: Queryable, encryptor: Encryptor) {
  return createSigningKey(db, encryptor, PUBLISH_AHEAD_MS);
}

/** The newest usable key that has started signs, or else the first key to start. */
export function signerOf(keys: readonly SigningKey[]): SigningKey | undefined {
  const usable = keys.filter(({ usable }) => usable);
  return usable.findLast(({ started }) => started) ?? usable[0];
}

export function oldSigningKeys(production: boolean): Job {
  const foreignMs = production ? FOREIGN_RETENTION_MS.production : FOREIGN_RETENTION_MS.otherwise;
  return {
    name: 'signing_keys',
    run: async (db) => (await db.query(PRUNE, [RETENTION_MS, foreignMs])).length,
  };
}

/**
 * Deleting a key invalidates every token that it signed.
 * @returns false if the key does not exist
 * @throws {DatabaseError}
 */
export async function revokeSigningKey(db: Queryable, id: string): Promise<boolean> {
  return (await db.query(DROP, [id])).length > 0;
}

/** Maximum age of cached keys for signing, so that a rotation reaches every instance within seconds. */
const MAX_AGE_MS = 1_000;
/**
 * Keys for verification may be cached longer, because no key is deleted before its last token has expired.
 */
const MAX_AGE_TO_VERIFY_MS = 60_000;

interface Known {
  readonly keys: readonly SigningKey[];
  readonly byKid: ReadonlyMap<string, KeyObject>;
  readonly atMs: number;
}

export interface TokenServices extends Pick<FeatureServices, 'config' | 'clock' | 'log'> {
  readonly database: Queryable;
}

export function createKeyRing({ database, config, clock, log }: TokenServices) {
  // The first key reads or creates the secret, because a service without OAuth needs no secret.
  let lazyEncryptor: Encryptor | undefined;
  const encryptor = () => (lazyEncryptor ??= createSigningKeyEncryptor(config));
  let known: Known | undefined;
  let reading: Promise<Known> | undefined;
  let making: Promise<Known> | undefined;

  function read(): Promise<Known> {
    reading ??= (async () => {
      const atMs = clock.elapsedMs();
      const keys = await listSigningKeys(database, encryptor());
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

  /** A read in progress may have started before the key existed, so a new read follows it. */
  async function readAgain(): Promise<Known> {
    await reading;
    return read();
  }

  /** Concurrent callers share the new key. */
  function make(): Promise<Known> {
    making ??= (async () => {
      await createSigningKey(database, encryptor(), 0);
      return readAgain();
    })().finally(() => {
      making = undefined;
    });
    return making;
  }

  const noOlderThan = async (ms: number): Promise<Known> =>
    known !== undefined && clock.elapsedMs() - known.atMs < ms ? known : read();

  /** @throws {DatabaseError} */
  async function publicKey(kid: string): Promise<KeyObject | undefined> {
    const { byKid } = await noOlderThan(MAX_AGE_TO_VERIFY_MS);
    // The key may be new. An unknown `kid` costs one look-up, like an unknown API key.
    return byKid.get(kid) ?? (await readAgain()).byKid.get(kid);
  }

  /**
   * Creates a key if there is none.
   * @throws {DatabaseError}
   */
  async function signer(): Promise<SigningKey> {
    const { keys } = await noOlderThan(MAX_AGE_MS);
    let found = signerOf(keys);
    if (found === undefined) {
      if (keys.length > 0) log.emit('oauth.signing_keys_replaced');
      found = signerOf((await make()).keys);
    }
    if (found === undefined) throw new Error('the new signing key was not found');
    return found;
  }

  const source: KeySource = {
    async *candidates(algorithm, { kid }) {
      if (algorithm !== 'ES256' || typeof kid !== 'string') return;
      const key = await publicKey(kid);
      if (key !== undefined) yield { id: kid, key };
    },
  };

  return {
    signer,
    /**
     * RFC 7517 defines the key set.
     * @throws {DatabaseError}
     */
    async published(): Promise<readonly JWK[]> {
      // An empty set must not be published, because clients that cache it would reject the first tokens.
      await signer();
      const { keys } = await noOlderThan(MAX_AGE_MS);
      return keys.map(({ id, publicJwk }) => ({ ...publicJwk, kid: id, alg: 'ES256', use: 'sig' }));
    },
    publicKey,
    source,
  };
}

export type KeyRing = ReturnType<typeof createKeyRing>;
