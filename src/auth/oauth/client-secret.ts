import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits, where contract section 3 asks for 160. */
const RANDOM_BYTES = 32;
/** For secret scanners to recognise a leaked one. */
const PREFIX = 'cgs_';

export function generateClientSecret(): string {
  return PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
}

/** What is stored of a secret. There is nothing to guess in 256 random bits, so plain SHA-256 is enough. */
export function hashClientSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest());
}

/** Whether it is the secret that was hashed. Takes the same time whatever differs. */
export function matchesClientSecret(secret: string, hash: Uint8Array): boolean {
  const given = hashClientSecret(secret);
  return given.length === hash.length && timingSafeEqual(given, hash);
}
