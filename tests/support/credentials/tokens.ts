import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';

export const JWT_SECRET = 'n0t-much-of-a-s3cr3t-but-l0ng-enough-for-HS256';
export const ISSUER = 'https://login.example.com';
export const AUDIENCE = 'content-graph-api';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly pem: string;
}

function pair({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }): KeyPair {
  return { privateKey, publicKey, pem: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
}

export const newRsaPair = (modulusLength = 2048) => pair(generateKeyPairSync('rsa', { modulusLength }));
export const newEcPair = () => pair(generateKeyPairSync('ec', { namedCurve: 'P-256' }));

export const secretBytes = new TextEncoder().encode(JWT_SECRET);

export interface TokenOptions {
  readonly algorithm?: string;
  readonly key?: KeyObject | Uint8Array;
  readonly header?: Record<string, unknown>;
  /** Claims beside those of a good token, or instead of them; undefined takes one out. */
  readonly claims?: Record<string, unknown>;
}

/** A token that is good for an account but for what the options say. */
export function signToken(
  sub: string,
  { algorithm = 'HS256', key = secretBytes, header = {}, claims = {} }: TokenOptions = {},
): Promise<string> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const payload = {
    sub,
    role: 'member',
    iss: ISSUER,
    aud: AUDIENCE,
    exp: nowSeconds + 600,
    ...claims,
  } as JWTPayload;
  const { crit } = header as { crit?: string[] };
  return new SignJWT(payload)
    .setProtectedHeader({ alg: algorithm, typ: 'JWT', ...header })
    .sign(key, crit === undefined ? {} : { crit: Object.fromEntries(crit.map((name) => [name, true])) });
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token of any parts, signed by nobody or by whoever `signature` comes from. */
export function assembleToken(header: unknown, payload: unknown, signature = ''): string {
  return `${encode(header)}.${encode(payload)}.${signature}`;
}
