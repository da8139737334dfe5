import type { Principal } from '../../auth/principal.ts';
import type { Logger } from '../../platform/log.ts';

export interface CredentialWatchOptions {
  /** Whether the credentials are still valid. A rejection decides nothing: they are checked again. */
  readonly stillValid: (principal: Principal) => Promise<boolean>;
  /** The longest time between two checks. */
  readonly recheckMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

/** Tells streams when the credentials behind them end. */
export interface CredentialWatch {
  /** Calls `onEnd` once the credentials have ended. Returns a function that stops that. */
  watch(principal: Principal, onEnd: () => void): () => void;
}

interface Watched {
  readonly principal: Principal;
  /** One for each stream. */
  readonly onEnd: Set<() => void>;
  /** When to check again, in elapsed time. */
  dueMs: number;
  checking: boolean;
}

/** Credentials that are due within this time are checked together: their look-ups share statements. */
const TICK_MS = 1_000;

/** The same credential, however many requests have authenticated with it. */
function keyOf({ kind, userId, clientId, credentialId, expiresAtMs }: Principal): string {
  return JSON.stringify([kind, userId, clientId, credentialId, expiresAtMs]);
}

/**
 * Contract section 3: a stream ends with its credentials. Each credential is checked every `recheckMs`, and
 * when it is known to expire, once for all of its streams. One timer serves all credentials.
 */
export function createCredentialWatch({
  stillValid,
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
    const holds = await stillValid(watched.principal).catch((error: unknown) => {
      log.warn({ err: error }, 'could not check the credentials behind an event stream; trying again');
      return true;
    });
    watched.checking = false;
    watched.dueMs = nextCheckMs(watched.principal);
    if (holds) return;
    if (credentials.get(key) === watched) credentials.delete(key);
    for (const onEnd of [...watched.onEnd]) onEnd();
  }

  function tick(): void {
    const nowMs = performance.now();
    for (const [key, watched] of credentials)
      if (!watched.checking && watched.dueMs <= nowMs) void check(key, watched);
  }

  return {
    watch(principal, onEnd) {
      const key = keyOf(principal);
      let watched = credentials.get(key);
      if (watched === undefined) {
        watched = { principal, onEnd: new Set(), dueMs: nextCheckMs(principal), checking: false };
        credentials.set(key, watched);
        ticking ??= setInterval(tick, tickMs).unref();
      }
      const { onEnd: streams } = watched;
      streams.add(onEnd);
      return () => {
        if (!streams.delete(onEnd) || streams.size > 0) return;
        if (credentials.get(key) === watched) credentials.delete(key);
        if (credentials.size > 0) return;
        clearInterval(ticking);
        ticking = undefined;
      };
    },
  };
}
