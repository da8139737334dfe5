import { isAuthenticated, type Principal } from '../../auth/principal.ts';
import type { Logger } from '../../platform/log.ts';
import type { RequestState } from '../../request/request-state.ts';

export interface StreamExpiryOptions {
  /** Whether the credentials are still valid. A rejection decides nothing: they are checked again. */
  readonly stillValid: (principal: Principal) => Promise<boolean>;
  /** The longest time between two checks. */
  readonly recheckMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

/** Lets a stream run while its credentials are valid. */
export interface Lease {
  /** Resolves to the result of the promise; to undefined once the credentials have ended. */
  during<T extends object>(promise: () => Promise<T>): Promise<T | undefined>;
  /** Stops checking the credentials. */
  end(): void;
}

/** Opens the lease of the stream that a request asks for. */
export type StreamExpiry = (state: RequestState) => Lease;

/** A lease that never ends: the stream has no credentials that could end. */
const UNLIMITED: Lease = { during: (promise) => promise(), end: () => undefined };

/** Calls `onEnd` once the credentials have ended. Returns a function that stops the watch. */
function watch(
  principal: Principal,
  { stillValid, recheckMs, now, log }: StreamExpiryOptions,
  onEnd: () => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const schedule = () => {
    const untilExpiryMs = (principal.expiresAtMs ?? Number.POSITIVE_INFINITY) - now();
    // If this clock is ahead, the expiry looks past while the credentials are still valid.
    const waitMs = untilExpiryMs > 0 ? Math.min(recheckMs, untilExpiryMs) : recheckMs;
    timer = setTimeout(() => void check(), Math.max(1, waitMs)).unref();
  };
  const check = async () => {
    const holds = await stillValid(principal).catch((error: unknown) => {
      log.warn({ err: error }, 'could not check the credentials behind an event stream; trying again');
      return true;
    });
    if (stopped) return;
    if (holds) schedule();
    else onEnd();
  };
  schedule();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/**
 * Contract section 3: a stream ends with its credentials. They are checked every `recheckMs`, and when they
 * are known to expire.
 */
export function createStreamExpiry(options: StreamExpiryOptions): StreamExpiry {
  return ({ caller }) => {
    if (caller === undefined || !isAuthenticated(caller)) return UNLIMITED;
    let ended = false;
    let wake = () => {};
    const end = watch(caller, options, () => {
      ended = true;
      wake();
    });
    return {
      end,
      async during(promise) {
        if (ended) return undefined;
        // One promise per call: racing each against one that lives as long as the stream would leak memory.
        return new Promise((resolve, reject) => {
          wake = () => resolve(undefined);
          promise().then(resolve, reject);
        });
      },
    };
  };
}
