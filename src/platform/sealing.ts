import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A key for one purpose, made from the secret (RFC 5869): no two purposes share one. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, KEY_BYTES));
}

/** Encrypts what is stored, under one secret and for one purpose. */
export interface Sealer {
  /** Names the key without telling it: what another one has sealed cannot be opened. */
  readonly name: string;
  /** `context` is bound to what is sealed: it opens under the same one only. */
  seal(plain: Uint8Array, context: string): Uint8Array<ArrayBuffer>;
  /** Throws where it was sealed under another key or context, or changed since. */
  open(sealed: Uint8Array, context: string): Buffer;
}

export function createSealer(secret: string, purpose: string): Sealer {
  const key = deriveKey(secret, purpose);
  return {
    name: createHash('sha256')
      .update(deriveKey(secret, `${purpose}: name`))
      .digest('base64url')
      .slice(0, 16),
    seal(plain, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(context));
      return new Uint8Array(
        Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]),
      );
    },
    open(sealed, context) {
      const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      }).setAAD(Buffer.from(context));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    },
  };
}
