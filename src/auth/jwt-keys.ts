import { createHash, createHmac, type KeyObject } from 'node:crypto';
import type { JWTHeaderParameters } from 'jose';
import { z } from 'zod';
import type { Config } from '../platform/config/config.ts';
import { type PublicKeyAlgorithm, parseJwk, parsePublicKeys } from '../platform/crypto.ts';
import type { Clock } from '../platform/deadline.ts';
import type { Logger } from '../platform/log/log.ts';
import { createOutageReporter } from '../platform/log/log-limits.ts';
import { ANONYMOUS_SCOPES } from './scopes.ts';

export type Algorithm = 'HS256' | 'RS256' | 'ES256';

interface KnownKey {
  /** Identifies the key on all instances and after restarts. The id is not secret. */
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

/** A key is bound to its algorithm, never to the algorithm that a token claims (RFC 8725 §3.1). */
export interface KeySource {
  /**
   * @returns the keys that may have signed the token
   * @throws {KeysUnavailableError}
   */
  candidates(algorithm: Algorithm, header: JWTHeaderParameters): AsyncIterable<KnownKey>;
}

/** Keys of an external issuer, which may withdraw them. */
export interface StandingKeys extends KeySource {
  /**
   * @returns false if the issuer has withdrawn the key
   * @throws {KeysUnavailableError}
   */
  knows(id: string): Promise<boolean>;
  /** Scopes of a token that has no claim with scopes; undefined for all scopes of the role. */
  readonly defaultScopes: readonly string[] | undefined;
}

/** RFC 7638 §3: the hash covers the required members in the order of their names. */
function thumbprintOf(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = key.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url');
}

/** The timeout covers connection, headers and body. */
const TIMEOUT_MS = 2_000;
const MAX_BYTES = 1_048_576;
const MAX_KEYS = 500;

interface PublishedKey extends KnownKey {
  readonly key: KeyObject;
  readonly algorithm: PublicKeyAlgorithm;
  readonly kid: unknown;
}

const text = z.string().exactOptional();
/**
 * A public key (RFC 7518 §6) that its issuer publishes for verification (RFC 7517 §4.2 and
 * §4.3).
 */
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

/** RFC 7517 §5: unusable keys are ignored. */
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

/**
 * Fetches a key set (RFC 7517 §5). Redirects are not followed. Rejects if the set does not arrive
 * completely and in time.
 */
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
    // Aborting discards the rest of a body that is not read.
    over.abort();
  }
}

/** An outage of the issuer allows a higher age. */
const MAX_AGE_MS = 600_000;
const MAX_AGE_IN_OUTAGE_MS = 3_600_000;
/** From this age on, the key set is fetched in the background, so that no request waits for it. */
const REFRESH_AGE_MS = 0.8 * MAX_AGE_MS;
/** Minimum age of the key set before an unknown `kid` triggers a fetch. Any client can invent a `kid`. */
const COOL_DOWN_MS = 30_000;
const BACK_OFF_MS = 1_000;
/** An older failure does not show that the issuer is unavailable now. */
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
 * Caches the key set of an issuer. Requests trigger fetches, but only wait if no usable key set is cached.
 * Ages are in elapsed time, so that changing a clock does not affect them.
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

  /**
   * Never rejects. During an outage there is one attempt at a time, and only the request that makes it waits.
   */
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

type ConfiguredKey = KnownKey & { readonly algorithm: Algorithm };

/**
 * The id of a shared secret is an HMAC. A plain hash would help to guess the secret (RFC 7638 §7); the
 * HMAC helps no more than a token does.
 */
const secretKey = (secret: string): ConfiguredKey => ({
  id: createHmac('sha256', secret).update('the id of this key').digest('base64url'),
  algorithm: 'HS256',
  key: new TextEncoder().encode(secret),
});

const publicKeys = (pem: string): readonly ConfiguredKey[] =>
  parsePublicKeys(pem).map((known) => ({ ...known, id: thumbprintOf(known.key) }));

const configuredKeys = (keys: readonly ConfiguredKey[], defaultScopes: StandingKeys['defaultScopes']) => ({
  defaultScopes,
  async *candidates(algorithm: Algorithm) {
    yield* keys.filter((known) => known.algorithm === algorithm);
  },
  knows: async (id: string) => keys.some((known) => known.id === id),
});

/** Keys in the settings come before key sets, because they need no fetch. */
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
    // An external issuer does not know the scopes of this service, so its tokens read only public data.
    ...(jwksUrl === undefined
      ? []
      : [remoteKeys({ url: jwksUrl, defaultScopes: defaultScopes ?? ANONYMOUS_SCOPES, ...services })]),
  ];
}
