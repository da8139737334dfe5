import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits: OWASP's session management cheat sheet asks for 64 at least. */
const RANDOM_BYTES = 32;
const PATTERN = /^[\w-]{43}$/;

export function generateSessionId(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}

/** Whether the text has the form of a session id: what has not needs no look-up. */
export function isWellFormedSessionId(text: string): boolean {
  return PATTERN.test(text);
}

/** What is stored of a session id. There is nothing to guess in 256 random bits, so plain SHA-256 is enough. */
export function hashSessionId(id: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(id).digest());
}
