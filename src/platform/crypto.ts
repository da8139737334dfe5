import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPublicKey,
  hash,
  hkdfSync,
  type JsonWebKeyInput,
  type KeyObject,
} from 'node:crypto';
import { randomPiece } from './ids.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The number of bytes that encryption adds. */
export const OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES;

/** @param context is authenticated with the data */
export function encrypt(key: Uint8Array, plain: Uint8Array, context = ''): Buffer<ArrayBuffer> {
  const nonce = randomPiece().subarray(0, NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Decrypts the result of `encrypt`.
 * @throws if the key or the context differs, or the data was altered
 */
export function decrypt(key: Uint8Array, encrypted: Uint8Array, context = ''): Buffer {
  const nonce = encrypted.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context)).setAuthTag(encrypted.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(encrypted.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}

/** The supported signature algorithms (RFC 7518 §3.1). */
export type PublicKeyAlgorithm = 'RS256' | 'ES256';

const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[\s\S]+?-----END \1-----/g;
/** RFC 7518 §3.3 requires this size. */
const MIN_RSA_BITS = 2048;

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): PublicKeyAlgorithm {
  if (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS)
    return 'RS256';
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  throw new Error(`the key is neither RSA with at least ${MIN_RSA_BITS} bits nor EC on P-256`);
}

/** @returns undefined if the JWK (RFC 7517 §4) is malformed or not supported */
export function parseJwk(jwk: JsonWebKeyInput['key']) {
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    return { algorithm: algorithmOf(key), key };
  } catch {
    return undefined;
  }
}

/**
 * Parses public keys. Line breaks may be written as `\n`.
 * @throws for unsupported keys
 */
export function parsePublicKeys(pem: string) {
  const blocks = [...pem.replaceAll('\\n', '\n').matchAll(PEM_BLOCK)];
  if (blocks.length === 0) throw new Error('no PEM block found');
  return blocks.map(([block, label = '']) => {
    // Node would silently use the public half, but a private key does not belong in this setting.
    if (label.includes('PRIVATE')) throw new Error('a private key was given');
    const key = createPublicKey(block);
    return { algorithm: algorithmOf(key), key };
  });
}

const KEY_BYTES = 32;

/** Derives a separate key for each purpose from the secret (HKDF, RFC 5869). */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, KEY_BYTES));
}

export type Encryptor = ReturnType<typeof createEncryptor>;

export function createEncryptor(secret: string, purpose: string) {
  const key = deriveKey(secret, purpose);
  return {
    /** Identifies the key without revealing the key. */
    name: hash('sha256', deriveKey(secret, `${purpose}: name`), 'base64url').slice(0, 16),
    encrypt: (plain: Uint8Array, context: string) => encrypt(key, plain, context),
    /** @throws if the key or the context differs, or the data was altered */
    decrypt: (encrypted: Uint8Array, context: string) => decrypt(key, encrypted, context),
  };
}

/**
 * Creates a function that distinguishes strings without revealing them. Without the secret, an attacker
 * cannot try all candidates, even if there are few, such as IP addresses.
 */
export function createKeyedHash(secret: string, purpose: string): (text: string) => string {
  const key = deriveKey(secret, purpose);
  return (text) => createHmac('sha256', key).update(text).digest('base64url');
}
