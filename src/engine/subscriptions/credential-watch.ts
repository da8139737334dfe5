import { LRUCache } from 'lru-cache';
import type { Principal } from '../../auth/principal.ts';
import { isOutage } from '../../database/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import { createOutageReporter } from '../../platform/log/log-limits.ts';

export interface CredentialWatchOptions {
  /**
   * Undefined if the credentials were revoked or have expired. If `renew` rejects, the credentials are checked again.
   */
  readonly renew: (principal: Principal) => Promise<Principal | undefined>;
  readonly recheckMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

type OnLoss = (present: Principal | undefined) => void;

interface Watched {
  readonly principal: Principal;
  readonly onLoss: Set<OnLoss>;
  readonly ids: readonly string[];
  dueMs: number;
  checking: boolean;
  /** True if a notification came after the running check began. */
  again: boolean;
}

/** Credentials that are due within this time are checked together, so that their lookups share statements. */
const TICK_MS = 1_000;

const GATHER_MS = 20;
/** The maximum time from the authentication of a request to the start of its stream. */
const LATE_START_MS = 15_000;
const MAX_ENDED = 10_000;

/** The credential id may be a list. */
function idsOf({ userId, credentialId = '' }: Principal): string[] {
  return [userId, credentialId, ...credentialId.split(' ')];
}

function keyOf(principal: Principal): string {
  const { kind, userId, clientId, credentialId, keyId, expiresAtMs, issuedAtMs, scopes, streamTokenId } =
    principal;
  const times = [expiresAtMs, issuedAtMs];
  return JSON.stringify([kind, userId, clientId, credentialId, keyId, times, [...scopes], streamTokenId]);
}

function holds({ scopes }: Principal, present: Principal | undefined): boolean {
  return present !== undefined && [...scopes].every((scope) => present.scopes.has(scope));
}

/**
 * A stream closes with its credentials (contract: session revocation). A credential is checked once for all its
 * streams: after a notification, when it expires, and every `recheckMs` in case a notification is lost. One timer
 * serves all credentials, and a failed check is repeated at the next tick.
 */
export function createCredentialWatch({ renew, recheckMs, now, log }: CredentialWatchOptions) {
  const credentials = new Map<string, Watched>();
  const failing = createOutageReporter(
    log,
    'streams.credential_check_failed',
    'streams.credential_check_recovered',
  );
  const tickMs = Math.min(TICK_MS, recheckMs);
  let ticking: NodeJS.Timeout | undefined;
  const ended = new Set<string>();
  let endedAll = false;
  let gathering = false;
  const recentlyEnded = new LRUCache<string, true>({ max: MAX_ENDED, ttl: LATE_START_MS });

  function nextCheckMs({ expiresAtMs }: Principal): number {
    const untilExpiryMs = (expiresAtMs ?? Number.POSITIVE_INFINITY) - now();
    // The last tick before the check is due. If this clock is ahead, the expiry may be in the past while the
    // credentials are still valid.
    const regularMs = recheckMs - tickMs;
    return performance.now() + (untilExpiryMs > 0 ? Math.min(regularMs, untilExpiryMs) : regularMs);
  }

  async function check(key: string, watched: Watched): Promise<void> {
    watched.checking = true;
    watched.again = false;
    const { principal } = watched;
    let present: Principal | undefined = principal;
    let failed = false;
    try {
      present = await renew(principal);
      failing.over();
    } catch (error) {
      failed = true;
      if (isOutage(error)) log.emit('streams.credential_check_failed', { err: error }, 'debug');
      else failing.failed({ err: error });
    }
    watched.checking = false;
    // After a failure, the credentials may have been revoked, so the next tick checks again.
    watched.dueMs = failed ? performance.now() : nextCheckMs(watched.principal);
    if (holds(principal, present)) {
      if (watched.again && !failed && credentials.get(key) === watched) void check(key, watched);
      return;
    }
    if (credentials.get(key) === watched) credentials.delete(key);
    for (const onLoss of [...watched.onLoss]) onLoss(present);
  }

  function tick(): void {
    const nowMs = performance.now();
    for (const [key, watched] of credentials)
      if (!watched.checking && watched.dueMs <= nowMs) void check(key, watched);
  }

  function checkNow(key: string, watched: Watched): void {
    if (watched.checking) watched.again = true;
    else void check(key, watched);
  }

  function checkEnded(): void {
    gathering = false;
    for (const [key, watched] of credentials)
      if (endedAll || watched.ids.some((id) => ended.has(id))) checkNow(key, watched);
    ended.clear();
    endedAll = false;
  }

  return {
    /** Checks the credentials that depend on the account, client or token. Without an id, checks all credentials. */
    recheck(endedId?: string): void {
      if (endedId === undefined) endedAll = true;
      else {
        ended.add(endedId);
        recentlyEnded.set(endedId, true);
      }
      if (gathering) return;
      gathering = true;
      setTimeout(checkEnded, GATHER_MS).unref();
    },
    /**
     * Calls `onLoss` once the credentials were revoked, have expired, or have lost a scope. In the last case, `onLoss`
     * gets the current principal.
     * @returns a function that stops the watch
     */
    watch(principal: Principal, onLoss: OnLoss): () => void {
      const key = keyOf(principal);
      let watched = credentials.get(key);
      if (watched === undefined) {
        const ids = idsOf(principal);
        const state = { dueMs: nextCheckMs(principal), checking: false, again: false };
        watched = { principal, onLoss: new Set(), ids, ...state };
        credentials.set(key, watched);
        ticking ??= setInterval(tick, tickMs).unref();
        // The credentials may have been revoked after the authentication and before the stream began.
        if (ids.some((id) => recentlyEnded.has(id))) checkNow(key, watched);
      }
      const { onLoss: streams } = watched;
      streams.add(onLoss);
      return () => {
        if (!streams.delete(onLoss) || streams.size > 0) return;
        if (credentials.get(key) === watched) credentials.delete(key);
        if (credentials.size > 0) return;
        clearInterval(ticking);
        ticking = undefined;
      };
    },
  };
}

export type CredentialWatch = ReturnType<typeof createCredentialWatch>;
