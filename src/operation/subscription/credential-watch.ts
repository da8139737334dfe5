import type { Principal } from '../../auth/principal.ts';
import type { Logger } from '../../platform/log.ts';

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
}

type OnLoss = (present: Principal | undefined) => void;

interface Watched {
  readonly principal: Principal;
  /** One for each stream. */
  readonly onLoss: Set<OnLoss>;
  /** When to check again, in elapsed time. */
  dueMs: number;
  checking: boolean;
}

/** Credentials that are due within this time are checked together: their look-ups share statements. */
const TICK_MS = 1_000;

/** The same credential, however many requests have authenticated with it. */
function keyOf(principal: Principal): string {
  const { kind, userId, clientId, credentialId, expiresAtMs, scopes, streamTokenId } = principal;
  return JSON.stringify([kind, userId, clientId, credentialId, expiresAtMs, [...scopes], streamTokenId]);
}

/** Whether the credentials still allow all that they did. */
function holds({ scopes }: Principal, present: Principal | undefined): boolean {
  return present !== undefined && [...scopes].every((scope) => present.scopes.has(scope));
}

/**
 * Contract section 3: a stream ends with its credentials. Each credential is checked every `recheckMs`, and
 * when it is known to expire, once for all of its streams. One timer serves all credentials.
 */
export function createCredentialWatch({
  renew,
  recheckMs,
  now,
  log,
}: CredentialWatchOptions): CredentialWatch {
  const credentials = new Map<string, Watched>();
  const tickMs = Math.min(TICK_MS, recheckMs);
  let ticking: NodeJS.Timeout | undefined;

  function nextCheckMs({ expiresAtMs }: Principal): number {
    const untilExpiryMs = (expiresAtMs ?? Number.POSITIVE_INFINITY) - now();
    // The last tick that is not too late. If this clock is ahead, the expiry looks past while the credentials
    // are still valid.
    const regularMs = recheckMs - tickMs;
    return performance.now() + (untilExpiryMs > 0 ? Math.min(regularMs, untilExpiryMs) : regularMs);
  }

  async function check(key: string, watched: Watched): Promise<void> {
    watched.checking = true;
    const { principal } = watched;
    const present = await renew(principal).catch((error: unknown) => {
      log.warn({ err: error }, 'could not check the credentials behind an event stream; trying again');
      return principal;
    });
    watched.checking = false;
    watched.dueMs = nextCheckMs(watched.principal);
    if (holds(principal, present)) return;
    if (credentials.get(key) === watched) credentials.delete(key);
    for (const onLoss of [...watched.onLoss]) onLoss(present);
  }

  function tick(): void {
    const nowMs = performance.now();
    for (const [key, watched] of credentials)
      if (!watched.checking && watched.dueMs <= nowMs) void check(key, watched);
  }

  return {
    watch(principal, onLoss) {
      const key = keyOf(principal);
      let watched = credentials.get(key);
      if (watched === undefined) {
        watched = { principal, onLoss: new Set(), dueMs: nextCheckMs(principal), checking: false };
        credentials.set(key, watched);
        ticking ??= setInterval(tick, tickMs).unref();
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
