import { isIP } from 'node:net';
import { z } from 'zod';
import { SCOPE_DEFINITIONS } from '../../auth/scopes.ts';
import { parsePublicKeys } from '../crypto.ts';

/**
 * Each message of a parser continues a sentence after the name of the setting. The parameter `hint` is
 * another sentence.
 */

const ALTERNATIVES = new Intl.ListFormat('en-GB', { type: 'disjunction' });

export const choice = <const Name extends string>(...names: readonly Name[]) =>
  z.enum(names, { error: `must be ${ALTERNATIVES.format(names)}` });

export const flag = choice('true', 'false').transform((value) => value === 'true');
export const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

export const scopes = list.refine(
  (items) => items.every((item) => Object.hasOwn(SCOPE_DEFINITIONS, item)),
  `must be a comma-separated list of scopes, which are ${Object.keys(SCOPE_DEFINITIONS).join(', ')}`,
);

/** OpenTelemetry uses this format of W3C Baggage. */
export const pairs = list.transform((items, context) => {
  try {
    return Object.fromEntries(
      items.map((item) => {
        const [, name = '', value = ''] = /^([^=\s]+)\s*=\s*(.*)$/.exec(item) ?? [];
        if (name === '') throw new URIError('no name');
        return [name, decodeURIComponent(value)];
      }),
    );
  } catch {
    context.addIssue('must be comma-separated pairs such as name=value, with values percent-encoded');
    return z.NEVER;
  }
});

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

/** `listen` does not accept the brackets of an IPv6 address. */
export const host = z
  .string()
  .transform((value) => value.replace(/^\[(.*)\]$/, '$1').toLowerCase())
  .refine(
    (value) => /^[\w.-]+$/.test(value) || (isIP(value) === 6 && !value.includes('%')),
    'must be an IP address or a host name such as 127.0.0.1, ::1 or localhost, without a scheme, a port or a zone',
  );

const parsedHttp = (value: string): URL | null => (/^https?:\/\//i.test(value) ? URL.parse(value) : null);

/** @returns undefined if the URL is invalid or has a path, a query or a fragment */
function originOf(value: string): string | undefined {
  const url = parsedHttp(value);
  return url !== null && url.href === `${url.origin}/` ? url.origin : undefined;
}

export const publicUrl = z.string().transform((value, context) => {
  const origin = originOf(value);
  if (origin !== undefined) return origin;
  const hasPath = (parsedHttp(value)?.pathname ?? '/') !== '/';
  context.addIssue({
    code: 'custom',
    message: 'must be an origin such as https://api.example.com, without a path',
    params: hasPath
      ? { hint: 'Configure the proxy to serve the service under a separate host name or port.' }
      : {},
  });
  return z.NEVER;
});

export const origins = list.transform((items, context) => {
  const named = items.map(originOf).filter((origin) => origin !== undefined);
  if (named.length === items.length) return named;
  context.addIssue('must be a comma-separated list of origins such as https://app.example.com');
  return z.NEVER;
});

/** RFC 9116 §2.5.3 allows web pages only with https. */
export const contacts = list.refine(
  (items) => items.every((item) => /^(?:https:\/\/|mailto:|tel:)\S+$/i.test(item) && URL.canParse(item)),
  'must be a comma-separated list of URIs such as mailto:security@example.com or https://example.com/security',
);

export const databaseUrl = z
  .string()
  // A URL with a user and without a host names a socket path in the parameter "host". URL parsers reject an
  // empty host.
  .transform((value) => value.replace(/^(\w+:\/\/[^/?#]*@)(?=[/?:]|$)/, '$1localhost'))
  .refine(
    (value) => /^postgres(ql)?:\/\//i.test(value) && URL.canParse(value),
    'must be a PostgreSQL URL such as postgres://user:password@host:5432/database',
  )
  .refine(
    (value) => /^(?:[1-9]\d{0,2})?$/.test(URL.parse(value)?.searchParams.get('connect_timeout') ?? ''),
    'must have a "connect_timeout" of 1 to 999 seconds, or none',
  )
  // A trailing slash would belong to the name of the database.
  .transform((value) => value.replace(/^([^?]*[^/?])\/(?=\?|$)/, '$1'));

export const redisUrl = z.string().refine((value) => {
  const { hostname = '', pathname = '' } = (/^rediss?:\/\//i.test(value) && URL.parse(value)) || {};
  return hostname !== '' && /^(\/\d*)*$/.test(pathname);
}, 'must be a Redis URL such as redis://host:6379 or, with the number of a database, redis://host:6379/2');

/** A user name or a password would leak with the URL. */
export const httpUrl = z.string().refine((value) => {
  const { protocol = '', username, password } = URL.parse(value) ?? {};
  return /^https?:$/.test(protocol) && username === '' && password === '';
}, 'must be a URL such as https://login.example.com/jwks, without a user name or a password');

/** A key for HS256 has at least 256 bits (RFC 7518 §3.2). */
export const secret = z
  .string()
  .refine((value) => Buffer.byteLength(value) >= 32, 'must be at least 32 bytes long');

export const publicKey = z.string().superRefine((value, context) => {
  try {
    parsePublicKeys(value);
  } catch (error) {
    const why = error instanceof Error && !('code' in error) ? `: ${error.message}` : '';
    context.addIssue(`must hold public keys in PEM${why}`);
  }
});
