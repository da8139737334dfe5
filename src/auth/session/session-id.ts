import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits; OWASP's session management cheat sheet requires at least 64. */
const RANDOM_BYTES = 32;
const PATTERN = /^[\w-]{43}$/;

export function generateSessionId(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}

/** Whether the text has the form of a session id. Other texts need no look-up. */
export function isWellFormedSessionId(text: string): boolean {
  return PATTERN.test(text);
}

/** What is stored of a session id. Plain SHA-256 is enough: 256 random bits cannot be guessed. */
export function hashSessionId(id: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(id).digest());
}
