import { createCipheriv, createDecipheriv } from 'node:crypto';
import { randomPiece } from './random.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What encryption adds to the length of a text, in bytes. */
export const OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES;

/** Encrypts with a random nonce, which comes first; the tag comes last. `context` is authenticated with it. */
export function encrypt(key: Uint8Array, plain: Uint8Array, context = ''): Buffer<ArrayBuffer> {
  const nonce = randomPiece().subarray(0, NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts what `encrypt` made. Throws if the key or the context is another, or the data was altered. */
export function decrypt(key: Uint8Array, sealed: Uint8Array, context = ''): Buffer {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
