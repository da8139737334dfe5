import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/log.ts';
import { createOutageLog } from '../../platform/outage-log.ts';
import { fetchKeySet, type PublishedKey } from './key-set.ts';
import { KeysUnavailableError, type StandingKeys } from './key-source.ts';

/** Contract section 3: how old a set may be while its issuer answers, and how old while it does not. */
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

export interface RemoteKeysOptions {
  readonly url: string;
  readonly defaultScopes: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The key set of an issuer. It is fetched with the first token, and kept new by whoever asks for keys: nobody waits for
 * that unless there is no set that may be used. While the issuer does not answer, what is known of it goes on for a
 * while. Its age is of elapsed time: nobody can change that by setting a clock.
 */
export function remoteKeys({ url, defaultScopes, clock, log }: RemoteKeysOptions): StandingKeys {
  let set: { readonly keys: readonly PublishedKey[]; readonly askedMs: number } | undefined;
  let failure: { readonly error: unknown; readonly atMs: number } | undefined;
  let fetching: Promise<void> | undefined;
  const outage = createOutageLog(
    log,
    'the keys at JWT_JWKS_URL cannot be fetched',
    'the keys at JWT_JWKS_URL can be fetched again',
  );

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
