import { createPublicKey, type KeyObject } from 'node:crypto';

/** What a public key can verify here (RFC 7518 section 3.1). */
export type PublicKeyAlgorithm = 'RS256' | 'ES256';

const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[\s\S]+?-----END \1-----/g;
/** RFC 7518 section 3.3. */
const MIN_RSA_BITS = 2048;

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): PublicKeyAlgorithm {
  if (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS)
    return 'RS256';
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  throw new Error(`it is neither RSA of ${MIN_RSA_BITS} bits or more nor EC on P-256`);
}

/** The public keys of a PEM text, one or more. Line breaks may be written `\n`. Throws where one is of no use here. */
export function parsePublicKeys(pem: string): { algorithm: PublicKeyAlgorithm; key: KeyObject }[] {
  const blocks = [...pem.replaceAll('\\n', '\n').matchAll(PEM_BLOCK)];
  if (blocks.length === 0) throw new Error('it holds no PEM block');
  return blocks.map(([block, label = '']) => {
    // Node would quietly take the public half of a private key, which has no business here.
    if (label.includes('PRIVATE')) throw new Error('it is a private key');
    const key = createPublicKey(block);
    return { algorithm: algorithmOf(key), key };
  });
}
