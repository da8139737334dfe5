import { hash, hkdfSync } from 'node:crypto';
import { decrypt, encrypt } from '../../platform/aes-gcm.ts';

/** A key and its account. */
export interface KeyOwner {
  readonly userId: string;
  readonly key: string;
}

function secretOf({ userId, key }: KeyOwner): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, userId, 'idempotency response', 32));
}

/** What is stored of a key. */
export function hashKey({ key }: KeyOwner): Buffer {
  return hash('sha256', key, 'buffer');
}

/**
 * Encrypts a response under the idempotency key, which is not stored. A response may contain a secret that is
 * shown once, such as a new API key, and the database must not hold it in plain text.
 */
export function seal(owner: KeyOwner, body: string): Buffer {
  return encrypt(secretOf(owner), Buffer.from(body));
}

/** The response that `seal` encrypted under the same key. Throws if it was changed. */
export function unseal(owner: KeyOwner, sealed: Buffer): string {
  return decrypt(secretOf(owner), sealed).toString();
}
