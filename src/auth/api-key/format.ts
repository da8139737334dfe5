import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * An API key is `cga_`, 30 random characters of 62 (178 bits) and a checksum of six. The prefix lets scanners
 * recognise a leaked key; the checksum exposes a mistyped or invented one without a query.
 */
const PREFIX = 'cga_';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PATTERN = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
const SHOWN_LENGTH = PREFIX.length + 6;

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    digits = ALPHABET[rest % ALPHABET.length] + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

export function generateApiKey(): string {
  let random = '';
  while (random.length < RANDOM_LENGTH) {
    // 248 is the largest multiple of 62 below 256: larger bytes would favour the first characters.
    for (const byte of randomBytes(RANDOM_LENGTH))
      if (byte < 248 && random.length < RANDOM_LENGTH) random += ALPHABET[byte % ALPHABET.length];
  }
  return PREFIX + random + checksum(random);
}

/** Whether the text looks like an API key of this service. */
export function looksLikeApiKey(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** Whether the text has the form and checksum of a key. The key may still not exist. */
export function isWellFormedApiKey(text: string): boolean {
  return (
    PATTERN.test(text) &&
    checksum(text.slice(PREFIX.length, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
  );
}

/** What is stored of a key. Plain SHA-256 is enough: 178 random bits cannot be guessed. */
export function hashApiKey(key: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(key).digest());
}

/** The part of a key that may be shown to identify it. */
export function shownPrefix(key: string): string {
  return key.slice(0, SHOWN_LENGTH);
}
