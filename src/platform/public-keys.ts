import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto';

/** The supported signature algorithms (RFC 7518 section 3.1). */
export type PublicKeyAlgorithm = 'RS256' | 'ES256';

const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[\s\S]+?-----END \1-----/g;
/** RFC 7518 section 3.3. */
const MIN_RSA_BITS = 2048;

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): PublicKeyAlgorithm {
  if (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS)
    return 'RS256';
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  throw new Error(`the key is neither RSA with at least ${MIN_RSA_BITS} bits nor EC on P-256`);
}

export interface PublicKey {
  readonly algorithm: PublicKeyAlgorithm;
  readonly key: KeyObject;
}

/** The key of a JWK (RFC 7517 section 4); undefined for one that is malformed or not supported. */
export function parseJwk(jwk: JsonWebKeyInput['key']): PublicKey | undefined {
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    return { algorithm: algorithmOf(key), key };
  } catch {
    return undefined;
  }
}

/** The public keys in a PEM text. Line breaks may be written as `\n`. Throws for unsupported keys. */
export function parsePublicKeys(pem: string): PublicKey[] {
  const blocks = [...pem.replaceAll('\\n', '\n').matchAll(PEM_BLOCK)];
  if (blocks.length === 0) throw new Error('no PEM block found');
  return blocks.map(([block, label = '']) => {
    // Node would silently use the public half, but a private key does not belong in this setting.
    if (label.includes('PRIVATE')) throw new Error('a private key was given');
    const key = createPublicKey(block);
    return { algorithm: algorithmOf(key), key };
  });
}
