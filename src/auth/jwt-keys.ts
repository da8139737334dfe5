import { createHash, createHmac, type KeyObject } from 'node:crypto';
import type { JWTHeaderParameters } from 'jose';
import { z } from 'zod';
import type { Config } from '../platform/config/config.ts';
import { type PublicKeyAlgorithm, parseJwk, parsePublicKeys } from '../platform/crypto.ts';
import type { Clock } from '../platform/deadline.ts';
import type { Logger } from '../platform/log/log.ts';
import { createOutageReporter } from '../platform/log/log-limits.ts';
import { ANONYMOUS_SCOPES } from './scopes.ts';

/** The algorithms of contract section 3. */
export type Algorithm = 'HS256' | 'RS256' | 'ES256';

/** A key to verify tokens with. */
interface KnownKey {
  /** The same wherever and whenever the key is known. Not secret. */
  readonly id: string;
  readonly key: KeyObject | Uint8Array;
}

/** The keys could not be fetched, so a token can be neither accepted nor rejected. */
export class KeysUnavailableError extends Error {
  constructor(cause: unknown) {
    super('cannot fetch the keys to verify tokens with', { cause });
    this.name = 'KeysUnavailableError';
  }
}

/**
 * Keys to verify tokens with. A key is bound to its algorithm, never to what a token claims (RFC 8725 section
 * 3.1): it is not offered for any other.
 */
export interface KeySource {
  /** The keys that may have signed the token. Throws KeysUnavailableError. */
  candidates(algorithm: Algorithm, header: JWTHeaderParameters): AsyncIterable<KnownKey>;
}

/** Keys of others, who may withdraw them. */
export interface StandingKeys extends KeySource {
  /** Whether a key still counts. Throws KeysUnavailableError. */
  knows(id: string): Promise<boolean>;
  /** The scopes of a token that has no claim with scopes; undefined for all scopes of the role. */
  readonly defaultScopes: readonly string[] | undefined;
}

/** RFC 7638 section 3: a hash of the required members, in the order of their names. */
function thumbprintOf(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = key.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url');
}

/** For everything: connection, headers and body. */
const TIMEOUT_MS = 2_000;
const MAX_BYTES = 1_048_576;
const MAX_KEYS = 500;

/** A key of a set, for one algorithm only. */
interface PublishedKey extends KnownKey {
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
async function fetchKeySet(url: string): Promise<readonly PublishedKey[]> {
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

/** Contract section 3: how old a set may be while its issuer responds, and how old while it does not. */
const MAX_AGE_MS = 600_000;
const MAX_AGE_IN_OUTAGE_MS = 3_600_000;
/** From this age on it is fetched beside the requests, so that none has to wait for it. */
const REFRESH_AGE_MS = 0.8 * MAX_AGE_MS;
/** Age from which an unknown `kid`, which anybody can make up, makes the service fetch the set. */
const COOL_DOWN_MS = 30_000;
/** Time without a fetch after a failed one. */
const BACK_OFF_MS = 1_000;
/** A failure from longer ago says nothing of the issuer. */
const OUTAGE_MS = 60_000;
/** A token without `kid` costs at most this many verifications. */
const MAX_CANDIDATES = 20;

interface RemoteKeysOptions {
  readonly url: string;
  readonly defaultScopes: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The key set of an issuer. It is fetched with the first token, and kept new by whoever asks for keys: nobody waits for
 * that unless there is no set that may be used. While the issuer does not respond, what is known of it goes on for a
 * while. Its age is of elapsed time: nobody can change that by setting a clock.
 */
function remoteKeys({ url, defaultScopes, clock, log }: RemoteKeysOptions): StandingKeys {
  let set: { readonly keys: readonly PublishedKey[]; readonly askedMs: number } | undefined;
  let failure: { readonly error: unknown; readonly atMs: number } | undefined;
  let fetching: Promise<void> | undefined;
  const outage = createOutageReporter(log, 'jwks.fetch_failed', 'jwks.recovered');

  const passedSince = (atMs = Number.NEGATIVE_INFINITY) => clock.elapsedMs() - atMs;
  const age = () => passedSince(set?.askedMs);
  const isOutage = () => passedSince(failure?.atMs) < OUTAGE_MS;

  async function fetchSet(): Promise<void> {
    const askedMs = clock.elapsedMs();
    try {
      set = { keys: await fetchKeySet(url), askedMs };
      failure = undefined;
      outage.over();
    } catch (error) {
      failure = { error, atMs: clock.elapsedMs() };
      outage.failed({ err: error });
    }
    fetching = undefined;
  }

  /** Never rejects. In an outage there is one attempt at a time, and none but the one who makes it waits. */
  async function refresh(): Promise<void> {
    if (isOutage() && (fetching !== undefined || passedSince(failure?.atMs) < BACK_OFF_MS)) return;
    fetching ??= fetchSet();
    await fetching;
  }

  async function fetched(): Promise<readonly PublishedKey[]> {
    await refresh();
    if (set === undefined || failure !== undefined) throw new KeysUnavailableError(failure?.error);
    return set.keys;
  }

  async function present(): Promise<readonly PublishedKey[]> {
    if (set === undefined || age() >= MAX_AGE_IN_OUTAGE_MS) return fetched();
    if (age() >= MAX_AGE_MS && !isOutage()) await refresh();
    else if (age() >= REFRESH_AGE_MS) void refresh();
    return set.keys;
  }

  return {
    async *candidates(algorithm, { kid }) {
      if (algorithm === 'HS256') return;
      const fitting = (keys: readonly PublishedKey[]) =>
        keys.filter((key) => key.algorithm === algorithm && (kid === undefined || key.kid === kid));
      let found = fitting(await present());
      if (found.length === 0 && age() >= COOL_DOWN_MS) found = fitting(await fetched());
      yield* found.slice(0, MAX_CANDIDATES);
    },
    defaultScopes,
    knows: async (id) => (await present()).some((key) => key.id === id),
  };
}

/** A key of the settings. */
type ConfiguredKey = KnownKey & { readonly algorithm: Algorithm };

/** A shared secret. A hash as id would help to guess it (RFC 7638 section 7); this HMAC helps no more than a token. */
const secretKey = (secret: string): ConfiguredKey => ({
  id: createHmac('sha256', secret).update('the id of this key').digest('base64url'),
  algorithm: 'HS256',
  key: new TextEncoder().encode(secret),
});

const publicKeys = (pem: string): readonly ConfiguredKey[] =>
  parsePublicKeys(pem).map((known) => ({ ...known, id: thumbprintOf(known.key) }));

/** Keys from the settings, which stay while the process lives. */
const configuredKeys = (keys: readonly ConfiguredKey[], defaultScopes: StandingKeys['defaultScopes']) => ({
  defaultScopes,
  async *candidates(algorithm: Algorithm) {
    yield* keys.filter((known) => known.algorithm === algorithm);
  },
  knows: async (id: string) => keys.some((known) => known.id === id),
});

/** The keys that the settings name. Those of the settings themselves come first: they need no fetch. */
export function keySources(
  { secret, publicKey, jwksUrl, defaultScopes }: Config['jwt'],
  services: Omit<RemoteKeysOptions, 'url' | 'defaultScopes'>,
): StandingKeys[] {
  const configured = [
    ...(secret === undefined ? [] : [secretKey(secret)]),
    ...(publicKey === undefined ? [] : publicKeys(publicKey)),
  ];
  return [
    ...(configured.length === 0 ? [] : [configuredKeys(configured, defaultScopes)]),
    // An external issuer does not know the scopes of this service, so its tokens read only what is public.
    ...(jwksUrl === undefined
      ? []
      : [remoteKeys({ url: jwksUrl, defaultScopes: defaultScopes ?? ANONYMOUS_SCOPES, ...services })]),
  ];
}
