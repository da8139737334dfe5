import { createHmac, hash, hkdfSync } from 'node:crypto';
import { decrypt, encrypt } from './aes-gcm.ts';

const KEY_BYTES = 32;

/** Derives a separate key for each purpose from the secret (HKDF, RFC 5869). */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, KEY_BYTES));
}

/** Encrypts stored data under one secret and for one purpose. */
export interface Sealer {
  /** Identifies the key without revealing it. A sealer with another name cannot open the data. */
  readonly name: string;
  /** Binds the data to `context`: it opens only under the same one. */
  seal(plain: Uint8Array, context: string): Uint8Array<ArrayBuffer>;
  /** Throws if the data was sealed under another key or context, or was altered. */
  open(sealed: Uint8Array, context: string): Buffer;
}

export function createSealer(secret: string, purpose: string): Sealer {
  const key = deriveKey(secret, purpose);
  return {
    name: hash('sha256', deriveKey(secret, `${purpose}: name`), 'base64url').slice(0, 16),
    seal: (plain, context) => encrypt(key, plain, context),
    open: (sealed, context) => decrypt(key, sealed, context),
  };
}

/**
 * Makes a function that distinguishes texts without revealing them. Without the secret, nobody can try all candidates,
 * even if there are few, such as addresses.
 */
export function createKeyedHash(secret: string, purpose: string): (text: string) => string {
  const key = deriveKey(secret, purpose);
  return (text) => createHmac('sha256', key).update(text).digest('base64url');
}
