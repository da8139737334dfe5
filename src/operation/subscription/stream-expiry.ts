import { isAuthenticated, type Principal } from '../../auth/principal.ts';
import type { Logger } from '../../platform/log.ts';
import type { RequestState } from '../../request/request-state.ts';

export interface StreamExpiryOptions {
  /** Whether the credentials still hold. A rejection is no answer: they are asked again. */
  readonly stillValid: (principal: Principal) => Promise<boolean>;
  /** The longest time between two questions. */
  readonly recheckMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

/** How long a stream may go on: as long as the credentials behind it hold. */
export interface Lease {
  /** What the promise resolves to; undefined where the credentials end before, and ever after. */
  during<T extends object>(promise: () => Promise<T>): Promise<T | undefined>;
  /** Stops looking at them. */
  end(): void;
}

/** Opens the lease of the stream that a request asks for. */
export type StreamExpiry = (state: RequestState) => Lease;

/** A lease that does not end: nothing stands behind the stream that could. */
const UNLIMITED: Lease = { during: (promise) => promise(), end: () => undefined };

/** Calls `onEnd` once the credentials have ended. Returns what stops the watch. */
function watch(
  principal: Principal,
  { stillValid, recheckMs, now, log }: StreamExpiryOptions,
  onEnd: () => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const schedule = () => {
    const untilExpiryMs = (principal.expiresAtMs ?? Number.POSITIVE_INFINITY) - now();
    // A clock that is ahead sees it in the past while it holds.
    const waitMs = untilExpiryMs > 0 ? Math.min(recheckMs, untilExpiryMs) : recheckMs;
    timer = setTimeout(() => void check(), Math.max(1, waitMs)).unref();
  };
  const check = async () => {
    const holds = await stillValid(principal).catch((error: unknown) => {
      log.warn({ err: error }, 'the credentials behind an event stream could not be checked; trying again');
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
 * Contract section 3: a stream ends with the credentials behind it. They are looked up again every `recheckMs`, and at
 * the time when they are known to expire.
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
        // One promise a call: racing each against one that lives as long as the stream would gather in memory.
        return new Promise((resolve, reject) => {
          wake = () => resolve(undefined);
          promise().then(resolve, reject);
        });
      },
    };
  };
}
