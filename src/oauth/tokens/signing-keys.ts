import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { Job } from '../../jobs/job.ts';
import type { Config } from '../../platform/config.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { createSealer, type Sealer } from '../../platform/sealing.ts';
import { secretKeyOf } from '../../platform/secret-key.ts';

/** What the keys are encrypted with. Reads or creates the service's secret. */
export const sealerOf = (config: Pick<Config, 'secretKey' | 'dataDir'>): Sealer =>
  createSealer(secretKeyOf(config), 'OAuth signing keys');

/** Lifetime of an access token (contract section 3). */
export const ACCESS_TOKEN_SECONDS = 900;
/** A new key is published this long before it signs, so that nobody meets a token of an unknown key. */
const PUBLISH_AHEAD_MS = 10_000;
/** A key that no longer signs is kept until its last token has expired, with a margin for wrong clocks. */
const KEEP_MS = ACCESS_TOKEN_SECONDS * 1000 + 120_000;
/**
 * A key under another secret may still sign elsewhere: during the rollout of a new secret, and in development
 * for longer, where each folder may have its own. A newer key under the same secret lets it be removed
 * earlier.
 */
const KEEP_FOREIGN_MS = { production: 86_400_000, otherwise: 30 * 86_400_000 };

interface KeyRow {
  readonly id: string;
  readonly publicJwk: JWK;
  readonly privateKey: Buffer;
  readonly sealedBy: string;
  readonly createdAt: Date;
  readonly signsFrom: Date;
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
  `SELECT id, public_jwk AS "publicJwk", private_key AS "privateKey", sealed_by AS "sealedBy",
     created_at AS "createdAt", signs_from AS "signsFrom", signs_from <= now() AS "started"
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

function asKey({ privateKey, ...key }: KeyRow, sealer: Sealer): SigningKey {
  return {
    ...key,
    usable: key.sealedBy === sealer.name,
    open: () => createPrivateKey({ key: sealer.open(privateKey, key.id), format: 'der', type: 'pkcs8' }),
  };
}

/**
 * All keys that tokens may be signed with, including future ones, in the order in which they sign. Throws
 * DatabaseError.
 */
export async function listSigningKeys(db: Queryable, sealer: Sealer): Promise<SigningKey[]> {
  return (await db.query(LIST, [])).map((row) => asKey(row, sealer));
}

/** Creates a key that starts to sign in `signsInMs` milliseconds. */
export async function createSigningKey(db: Queryable, sealer: Sealer, signsInMs: number) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicJwk = publicKey.export({ format: 'jwk' }) as JWK;
  const id = await calculateJwkThumbprint(publicJwk);
  const sealed = sealer.seal(privateKey.export({ format: 'der', type: 'pkcs8' }), id);
  const [row] = await db.query(INSERT, [id, JSON.stringify(publicJwk), sealed, sealer.name, signsInMs]);
  return { id, signsFrom: row?.signsFrom };
}

/** Lets a new key take over once everybody has had time to learn of it. All tokens stay valid. */
export function rotateSigningKey(db: Queryable, sealer: Sealer) {
  return createSigningKey(db, sealer, PUBLISH_AHEAD_MS);
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
export async function dropSigningKey(db: Queryable, id: string): Promise<boolean> {
  return (await db.query(DROP, [id])).length > 0;
}
