import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { type PublicKeyAlgorithm, parseJwk } from '../../platform/public-keys.ts';
import { type KnownKey, thumbprintOf } from './key-source.ts';

/** For everything: connection, headers and body. */
const TIMEOUT_MS = 2_000;
const MAX_BYTES = 1_048_576;
const MAX_KEYS = 500;

/** A key of a set, for one algorithm only. */
export interface PublishedKey extends KnownKey {
  readonly key: KeyObject;
  readonly algorithm: PublicKeyAlgorithm;
  readonly kid: unknown;
}

const text = z.string().exactOptional();
/** A public key (RFC 7518 section 6) that its owner means for verifying (RFC 7517 sections 4.2 and 4.3). */
const verifyingKey = z.object({
  kty: z.string(),
  n: text,
  e: text,
  crv: text,
  x: text,
  y: text,
  d: z.never().exactOptional(),
  use: z.literal('sig').exactOptional(),
  key_ops: z
    .array(z.string())
    .refine((operations) => operations.includes('verify'))
    .exactOptional(),
  alg: text,
  kid: z.unknown().optional(),
});
const keySet = z.object({ keys: z.array(z.unknown()).max(MAX_KEYS) });

/** The key, unless it is for something else. RFC 7517 section 5: what cannot be used is passed over. */
function usableKeys(member: unknown): PublishedKey[] {
  const { data: jwk } = verifyingKey.safeParse(member);
  const known = jwk && parseJwk(jwk);
  if (known === undefined || (jwk?.alg ?? known.algorithm) !== known.algorithm) return [];
  return [{ ...known, id: thumbprintOf(known.key), kid: jwk?.kid }];
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the key set has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Fetches a key set (RFC 7517 section 5). Rejects if that cannot be had in time, in full and from this very address. */
export async function fetchKeySet(url: string): Promise<readonly PublishedKey[]> {
  const over = new AbortController();
  const tooLate = setTimeout(
    () => over.abort(new Error(`the key set did not arrive within ${TIMEOUT_MS} ms`)),
    TIMEOUT_MS,
  );
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/jwk-set+json, application/json' },
      redirect: 'manual',
      signal: over.signal,
    });
    if (response.status !== 200) throw new Error(`the response has the status ${response.status}`);
    return keySet.parse(JSON.parse(await textOf(response))).keys.flatMap(usableKeys);
  } finally {
    clearTimeout(tooLate);
    // The rest of a body that nobody reads.
    over.abort();
  }
}
