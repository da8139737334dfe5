import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    digits = ALPHABET[rest % ALPHABET.length] + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

/**
 * The form of a secret: a prefix, 30 random characters of 62 (178 bits) and a checksum of six. The prefix lets scanners
 * recognise a leaked secret; the checksum exposes a mistyped or invented one without a query. The prefix has no
 * characters that are special in a regular expression. `earlier` is a prefix that secrets had before, and may still
 * have.
 */
export function secretFormat(prefix: string, earlier = prefix) {
  const pattern = new RegExp(`^(?:${prefix}|${earlier})[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
  return {
    generate(): string {
      let random = '';
      while (random.length < RANDOM_LENGTH) {
        // 248 is the largest multiple of 62 below 256: larger bytes would favour the first characters.
        for (const byte of randomBytes(RANDOM_LENGTH))
          if (byte < 248 && random.length < RANDOM_LENGTH) random += ALPHABET[byte % ALPHABET.length];
      }
      return prefix + random + checksum(random);
    },
    /** Whether the text begins like such a secret. */
    looksLike: (text: string) => text.startsWith(prefix),
    /** Whether the text has the form and checksum of one. It may still not exist. */
    isWellFormed: (text: string) =>
      pattern.test(text) &&
      checksum(text.slice(-RANDOM_LENGTH - CHECKSUM_LENGTH, -CHECKSUM_LENGTH)) ===
        text.slice(-CHECKSUM_LENGTH),
  };
}

/** What is stored of a secret. Plain SHA-256 is enough: 178 random bits and more cannot be guessed. */
export function hashSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hash('sha256', secret, 'buffer'));
}

/** Whether the hash is that of the secret, in constant time. */
export function matchesSecret(secret: string, hash: Uint8Array): boolean {
  const given = hashSecret(secret);
  return given.length === hash.length && timingSafeEqual(given, hash);
}

/** Bytes as PostgreSQL writes them as text. */
export function byteaText(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes).toString('hex')}`;
}
