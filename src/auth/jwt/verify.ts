import { decodeProtectedHeader, errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import type { Algorithm, KeySource } from './key-source.ts';

const ALGORITHMS: readonly Algorithm[] = ['HS256', 'RS256', 'ES256'];

const COMPACT = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Whether the text looks like a JWT, signed or not: three parts, the first a JSON header. */
export function looksLikeJwt(text: string): boolean {
  if (!COMPACT.test(text)) return false;
  try {
    decodeProtectedHeader(text);
    return true;
  } catch {
    return false;
  }
}

export interface VerifyOptions<Source extends KeySource = KeySource> {
  readonly keys: readonly Source[];
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
}

export type Verification<Source extends KeySource = KeySource> =
  | {
      readonly valid: true;
      readonly payload: JWTPayload & { readonly exp: number; readonly sub: string };
      /** The key that it is signed with. */
      readonly keyId: string;
      /** Where the key is from. */
      readonly source: Source;
    }
  | { readonly valid: false; readonly reason: string };

const refused = (reason: string) => ({ valid: false, reason }) as const;

/** jose's reason for refusing a token, in words that fit into a header (RFC 6750 section 3). */
function reasonOf(error: InstanceType<typeof errors.JOSEError>): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired.';
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'nbf') return 'The token is not valid yet.';
    if (error.claim === 'iss') return 'The token was issued by another issuer.';
    if (error.claim === 'aud') return 'The token is meant for another audience.';
    return `The token has no valid ${error.claim} claim.`;
  }
  if (error instanceof errors.JOSENotSupported) return 'The token has unsupported critical headers.';
  return 'The token is malformed.';
}

/** Checks signature and claims (RFC 7519 section 7.2, RFC 8725). Throws KeysUnavailableError. */
export async function verifyJwt<Source extends KeySource>(
  token: string,
  { keys, issuer, audience }: VerifyOptions<Source>,
  nowMs: number,
): Promise<Verification<Source>> {
  const header = decodeProtectedHeader(token) as JWTHeaderParameters;
  const algorithm = ALGORITHMS.find((known) => known === header.alg);
  if (algorithm === undefined) return refused('The signing algorithm of the token is not accepted.');
  for (const source of keys) {
    for await (const { id: keyId, key } of source.candidates(algorithm, header)) {
      try {
        const verified = await jwtVerify(token, key, {
          algorithms: [algorithm],
          requiredClaims: ['exp', 'sub'],
          currentDate: new Date(nowMs),
          ...(issuer === undefined ? {} : { issuer }),
          ...(audience === undefined ? {} : { audience }),
        });
        const { exp, sub } = verified.payload;
        if (typeof sub !== 'string' || exp === undefined) return refused('The token has no valid sub claim.');
        return { valid: true, payload: { ...verified.payload, exp, sub }, keyId, source };
      } catch (error) {
        if (error instanceof errors.JWSSignatureVerificationFailed) continue;
        if (error instanceof errors.JOSEError) return refused(reasonOf(error));
        throw error;
      }
    }
  }
  return refused('The signature of the token does not match any known key.');
}
