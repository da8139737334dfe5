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

/** What the keys are encrypted with. Reads or creates the service's secret. */
export const createSigningKeyEncryptor = (config: Pick<Config, 'secretKey' | 'dataDir'>): Encryptor =>
  createEncryptor(secretKeyOf(config), 'OAuth signing keys');

/** Lifetime of an access token (contract section 3). */
export const ACCESS_TOKEN_SECONDS = 900;
/** A new key is published this long before it signs, so that nobody meets a token of an unknown key. */
const PUBLISH_AHEAD_MS = 10_000;
/** A key that no longer signs is kept until its last token has expired, with a margin for wrong clocks. */
const KEEP_MS = ACCESS_TOKEN_SECONDS * 1000 + 120_000;
/**
 * A key under another secret may still sign elsewhere: during the rollout of a new secret, and in development
 * for longer, where each data directory may have its own. A newer key under the same secret lets it be removed
 * earlier.
 */
const KEEP_FOREIGN_MS = { production: 86_400_000, otherwise: 30 * 86_400_000 };

interface KeyRow extends OAuthSigningKey {
  readonly publicJwk: JWK;
  /** Whether `signsFrom` has passed, by the database's clock. */
  readonly started: boolean;
}

/** A key pair as it is stored. */
export interface SigningKey extends Omit<KeyRow, 'privateKey'> {
  /** False if it is encrypted under another secret than ours. */
  readonly usable: boolean;
  /** The private key. Throws if it is not usable. */
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
 * All keys that tokens may be signed with, including future ones, in the order in which they sign. Throws
 * DatabaseError.
 */
export async function listSigningKeys(db: Queryable, encryptor: Encryptor): Promise<SigningKey[]> {
  return (await db.query(LIST, [])).map((row) => asKey(row, encryptor));
}

/** Creates a key that starts to sign in `signsInMs` milliseconds. */
export async function createSigningKey(db: Queryable, encryptor: Encryptor, signsInMs: number) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicJwk = publicKey.export({ format: 'jwk' }) as JWK;
  const id = await calculateJwkThumbprint(publicJwk);
  const encrypted = encryptor.encrypt(privateKey.export({ format: 'der', type: 'pkcs8' }), id);
  const [row] = await db.query(INSERT, [id, JSON.stringify(publicJwk), encrypted, encryptor.name, signsInMs]);
  return { id, signsFrom: row?.signsFrom };
}

/** Lets a new key take over once everybody has had time to learn of it. All tokens stay valid. */
export function rotateSigningKey(db: Queryable, encryptor: Encryptor) {
  return createSigningKey(db, encryptor, PUBLISH_AHEAD_MS);
}

/** The key that signs now: the newest usable one that has started, else the first to start. */
export function signerOf(keys: readonly SigningKey[]): SigningKey | undefined {
  const usable = keys.filter(({ usable }) => usable);
  return usable.findLast(({ started }) => started) ?? usable[0];
}

/** Removes keys that no live token is signed with. */
export function oldSigningKeys(production: boolean): Job {
  const foreignMs = production ? KEEP_FOREIGN_MS.production : KEEP_FOREIGN_MS.otherwise;
  return {
    name: 'signing_keys',
    run: async (db) => (await db.query(PRUNE, [KEEP_MS, foreignMs])).length,
  };
}

/**
 * Removes a key, which invalidates every token that it signed. False if there is no such key. Throws
 * DatabaseError.
 */
export async function revokeSigningKey(db: Queryable, id: string): Promise<boolean> {
  return (await db.query(DROP, [id])).length > 0;
}

/** Maximum age of the known keys: rotation reaches every instance within seconds. */
const MAX_AGE_MS = 1_000;
/** Verification may use a known key for longer: no key is removed before its last token has expired. */
const MAX_AGE_TO_VERIFY_MS = 60_000;

interface Known {
  readonly keys: readonly SigningKey[];
  readonly byKid: ReadonlyMap<string, KeyObject>;
  readonly atMs: number;
}

export interface TokenServices extends Pick<FeatureServices, 'config' | 'clock' | 'log'> {
  readonly database: Queryable;
}

/** The service's own signing keys as known to one instance. The database has them; nothing is cached for long. */
export function createKeyRing({ database, config, clock, log }: TokenServices) {
  // The secret is read or created when the first key is needed, because a service without OAuth needs no secret.
  let lazyEncryptor: Encryptor | undefined;
  const encryptor = () => (lazyEncryptor ??= createSigningKeyEncryptor(config));
  let known: Known | undefined;
  let reading: Promise<Known> | undefined;
  let making: Promise<Known> | undefined;

  /** Concurrent callers share one read. */
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

  /** A read in flight may have started before the key existed, so it is awaited and repeated. */
  async function readAnew(): Promise<Known> {
    await reading;
    return read();
  }

  /** Creates a key that signs at once. Concurrent callers share it. */
  function make(): Promise<Known> {
    making ??= (async () => {
      await createSigningKey(database, encryptor(), 0);
      return readAnew();
    })().finally(() => {
      making = undefined;
    });
    return making;
  }

  const noOlderThan = async (ms: number): Promise<Known> =>
    known !== undefined && clock.elapsedMs() - known.atMs < ms ? known : read();

  /** The public key of a `kid`, read from the database if unknown. Throws DatabaseError. */
  async function publicKey(kid: string): Promise<KeyObject | undefined> {
    const { byKid } = await noOlderThan(MAX_AGE_TO_VERIFY_MS);
    // The key may be new. Like an unknown API key it costs one look-up.
    return byKid.get(kid) ?? (await readAnew()).byKid.get(kid);
  }

  /** The key to sign with, created if there is none. Throws DatabaseError. */
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

  /** The same for verifying a token by its header. */
  const source: KeySource = {
    async *candidates(algorithm, { kid }) {
      if (algorithm !== 'ES256' || typeof kid !== 'string') return;
      const key = await publicKey(kid);
      if (key !== undefined) yield { id: kid, key };
    },
  };

  return {
    signer,
    /** The published key set (RFC 7517), including the key to sign with. Throws DatabaseError. */
    async published(): Promise<readonly JWK[]> {
      // Never publish an empty set: whoever caches it rejects the first tokens.
      await signer();
      const { keys } = await noOlderThan(MAX_AGE_MS);
      return keys.map(({ id, publicJwk }) => ({ ...publicJwk, kid: id, alg: 'ES256', use: 'sig' }));
    },
    publicKey,
    source,
  };
}

export type KeyRing = ReturnType<typeof createKeyRing>;
