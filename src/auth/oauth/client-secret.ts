import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits; contract section 3 requires 160. */
const RANDOM_BYTES = 32;
/** Lets secret scanners recognise a leaked secret. */
const PREFIX = 'cgs_';

export function generateClientSecret(): string {
  return PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
}

/** What is stored of a secret. Plain SHA-256 is enough: 256 random bits cannot be guessed. */
export function hashClientSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest());
}

/** Whether the secret matches the hash, in constant time. */
export function matchesClientSecret(secret: string, hash: Uint8Array): boolean {
  const given = hashClientSecret(secret);
  return given.length === hash.length && timingSafeEqual(given, hash);
}
