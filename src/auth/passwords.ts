import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const argon2id = promisify(argon2) as (algorithm: 'argon2id', parameters: object) => Promise<Buffer>;

/** OWASP's password storage cheat sheet recommends argon2id with 19 MiB, two passes and one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;
const SALT_BYTES = 16;

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replaceAll('=', '');

const phc = (salt: Uint8Array, tag: Uint8Array) =>
  `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${base64(salt)}$${base64(tag)}`;

/** @returns the argon2id hash in PHC format, with its salt and cost */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(SALT_BYTES);
  const tag = await argon2id('argon2id', { message: password, nonce, ...COST });
  return phc(nonce, tag);
}

/** No password matches this hash. Checking a password against it takes as long as against a real hash. */
export function unmatchableHash(): string {
  return phc(randomBytes(SALT_BYTES), randomBytes(COST.tagLength));
}

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/;

/** True if the hash costs less than a new hash. A hash that costs more is from a newer version. */
export function isOutdated(hash: string): boolean {
  const [, memory, passes] = PHC.exec(hash) ?? [];
  return Number(memory) * Number(passes) < COST.memory * COST.passes;
}

/** Takes the same time for every password. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', expected = ''] = PHC.exec(hash) ?? [];
  const tag = Buffer.from(expected, 'base64');
  if (tag.length === 0) throw new Error('the stored password hash is malformed');
  const nonce = Buffer.from(salt, 'base64');
  const given = await argon2id('argon2id', {
    message: password,
    nonce,
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: tag.length,
  });
  return timingSafeEqual(given, tag);
}
