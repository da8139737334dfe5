import { isIP } from 'node:net';
import { z } from 'zod';
import { parsePublicKeys } from './public-keys.ts';

/** Parsers for the types of settings. Each message continues a sentence after the setting's name. */

export const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');
export const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

const number = (what: string, form: RegExp) => (minimum: number, maximum: number) => {
  const message = `must be a ${what} from ${minimum} to ${maximum}`;
  return z
    .string()
    .regex(form, { error: message })
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, { error: message });
};
export const integer = number('whole number', /^\d{1,12}$/);
export const decimal = number('number', /^\d{1,12}(\.\d{1,6})?$/);

export function isOrigin(value: string): boolean {
  return URL.canParse(value) && new URL(value).origin === value && /^https?:/.test(value);
}

export const databaseUrl = z
  .string()
  .refine((value) => URL.canParse(value) && /^postgres(ql)?:$/.test(new URL(value).protocol), {
    error: 'must be a PostgreSQL address such as postgres://user:password@host:5432/database',
  });

export function isNetwork(value: string): boolean {
  const [address = '', bits, ...rest] = value.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

export const redisUrl = z
  .string()
  .refine((value) => URL.canParse(value) && /^rediss?:$/.test(new URL(value).protocol), {
    error: 'must be a Redis address such as redis://host:6379',
  });

/** Rejects user names and passwords, so that they cannot leak with the address. */
export const httpUrl = z.string().refine(
  (value) => {
    const { protocol = '', username, password } = URL.parse(value) ?? {};
    return /^https?:$/.test(protocol) && username === '' && password === '';
  },
  { error: 'must be an address such as https://login.example.com/jwks, without a user name or a password' },
);

/** RFC 7518 section 3.2: a key for HS256 has at least 256 bits. */
export const secret = z
  .string()
  .refine((value) => Buffer.byteLength(value) >= 32, { error: 'must be at least 32 bytes long' });

export const publicKey = z.string().superRefine((value, context) => {
  try {
    parsePublicKeys(value);
  } catch (error) {
    // OpenSSL's messages do not help the operator.
    const why = error instanceof Error && !('code' in error) ? `: ${error.message}` : '';
    context.addIssue({ code: 'custom', message: `must hold public keys in PEM${why}` });
  }
});
