import { LRUCache } from 'lru-cache';
import type { Principal } from '../../auth/principal.ts';
import { isOutage } from '../../database/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import { createOutageReporter } from '../../platform/log/log-limits.ts';

export interface CredentialWatchOptions {
  /**
   * The principal as it is now; undefined if its credentials have ended. A rejection decides nothing: they are checked
   * again.
   */
  readonly renew: (principal: Principal) => Promise<Principal | undefined>;
  /** The longest time between two checks. */
  readonly recheckMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

/** Tells streams when the credentials behind them end. */
export interface CredentialWatch {
  /**
   * Calls `onLoss` once the credentials have ended, or have lost a scope: then with the principal as it is now. Returns
   * a function that stops that.
   */
  watch(principal: Principal, onLoss: OnLoss): () => void;
  /** Checks soon what depends on an id that has ended or changed: of an account, a client or a token. Without one, all. */
  recheck(endedId?: string): void;
}

type OnLoss = (present: Principal | undefined) => void;

interface Watched {
  readonly principal: Principal;
  /** One for each stream. */
  readonly onLoss: Set<OnLoss>;
  /** The ids that it depends on. */
  readonly ids: readonly string[];
  /** When to check again, in elapsed time. */
  dueMs: number;
  checking: boolean;
  /** Something has ended since the running check began. */
  again: boolean;
}

/** Credentials that are due within this time are checked together: their look-ups share statements. */
const TICK_MS = 1_000;

/** Notifications within this time are handled together. */
const GATHER_MS = 20;
/** A stream may begin this long after its credentials were looked at. */
const LATE_START_MS = 15_000;
const MAX_ENDED = 10_000;

/** All that the credentials depend on: their id may be a list. */
function idsOf({ userId, credentialId = '' }: Principal): string[] {
  return [userId, credentialId, ...credentialId.split(' ')];
}

/** The same credential, however many requests have authenticated with it. */
function keyOf(principal: Principal): string {
  const { kind, userId, clientId, credentialId, keyId, expiresAtMs, issuedAtMs, scopes, streamTokenId } =
    principal;
  const times = [expiresAtMs, issuedAtMs];
  return JSON.stringify([kind, userId, clientId, credentialId, keyId, times, [...scopes], streamTokenId]);
}

/** Whether the credentials still allow all that they did. */
function holds({ scopes }: Principal, present: Principal | undefined): boolean {
  return present !== undefined && [...scopes].every((scope) => present.scopes.has(scope));
}

/**
 * Contract section 3: a stream ends with its credentials. Each credential is checked when something that it depends on
 * has ended, every `recheckMs` in case nobody told, and when it is known to expire: once for all of its streams. One
 * timer serves all credentials. A check that fails is repeated at the next tick.
 */
export function createCredentialWatch({
  renew,
  recheckMs,
  now,
  log,
}: CredentialWatchOptions): CredentialWatch {
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
    // The last tick that is not too late. If this clock is ahead, the expiry looks past while the credentials
    // are still valid.
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
    // What may have ended is not left open until the next regular check.
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
    recheck(endedId) {
      if (endedId === undefined) endedAll = true;
      else {
        ended.add(endedId);
        recentlyEnded.set(endedId, true);
      }
      if (gathering) return;
      gathering = true;
      setTimeout(checkEnded, GATHER_MS).unref();
    },
    watch(principal, onLoss) {
      const key = keyOf(principal);
      let watched = credentials.get(key);
      if (watched === undefined) {
        const ids = idsOf(principal);
        const state = { dueMs: nextCheckMs(principal), checking: false, again: false };
        watched = { principal, onLoss: new Set(), ids, ...state };
        credentials.set(key, watched);
        ticking ??= setInterval(tick, tickMs).unref();
        // They may have ended after the request was authenticated and before the stream began.
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
