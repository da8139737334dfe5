import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

/** Whose key it is, and which. */
export interface KeyOwner {
  readonly userId: string;
  readonly key: string;
}

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** What a sealed response has more than the response. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES;

function secretOf({ userId, key }: KeyOwner): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, userId, 'idempotency response', 32));
}

/** What a key is stored as. */
export function hashKey({ key }: KeyOwner): Buffer {
  return createHash('sha256').update(key).digest();
}

/**
 * Encrypts a response under the idempotency key, which is not stored: a response may hold a secret that is shown
 * once, such as a new API key, and the database must not have it in clear.
 */
export function seal(owner: KeyOwner, body: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, secretOf(owner), nonce);
  return Buffer.concat([nonce, cipher.update(body, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** The response that `seal` encrypted under the same key. Throws where it was changed. */
export function unseal(owner: KeyOwner, sealed: Buffer): string {
  const decipher = createDecipheriv(ALGORITHM, secretOf(owner), sealed.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  return (
    decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  );
}
