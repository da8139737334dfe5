import type { Activity } from './activity.ts';
import type { Clock } from './clock.ts';
import type { ContentGraphError } from './errors.ts';
import type { ReconnectReason, StreamState } from './stream-state.ts';

/** Pauses between the connections of one stream. */
export interface Reconnection {
  /** Sets the unit of the pauses, which the service sends in `retry:`. */
  setBase(retry: string): void;
  /** Begins with short pauses again. */
  reset(): void;
  /** Waits before the next connection. */
  pause(error: ContentGraphError, signal: AbortSignal): Promise<void>;
  /** Shortens the current pause, except one that the service asked for. */
  wake(): void;
}

const MAX_PAUSE_MS = 30_000;
/** Attempts without valid credentials have a separate limit. */
const UNAUTHENTICATED_BASE_MS = 5_000;
const UNAUTHENTICATED_MAX_MS = 60_000;

const isUnauthenticated = ({ code, httpStatus }: ContentGraphError) =>
  code === 'UNAUTHENTICATED' || httpStatus === 401;

function findReason(error: ContentGraphError): ReconnectReason {
  if (isUnauthenticated(error)) return 'unauthenticated';
  if (error.httpStatus === 429 || error.code === 'RATE_LIMITED') return 'rateLimited';
  return error.code === 'NETWORK_ERROR' ? 'network' : 'unavailable';
}

/** True if another connection may succeed. A login page of a network has the status 200 until a person signs in. */
export function isReconnectable(error: ContentGraphError): boolean {
  const { code, httpStatus = 0 } = error;
  const isForeignPage = code === 'UNEXPECTED_RESPONSE' && httpStatus >= 200 && httpStatus < 300;
  return error.isRetryable || isForeignPage || isUnauthenticated(error);
}

export function createReconnection(
  clock: Clock,
  activity: Activity,
  setState: (state: StreamState) => void,
): Reconnection {
  let attempt = 0;
  let baseMs = 1_000;
  let waking = new AbortController();

  function computeDelayMs(reason: ReconnectReason, retryAfterMs: number | undefined): number {
    const doubled = 2 ** (attempt - 1);
    if (retryAfterMs !== undefined) return retryAfterMs + clock.random() * baseMs;
    return reason === 'unauthenticated'
      ? Math.min(UNAUTHENTICATED_MAX_MS, UNAUTHENTICATED_BASE_MS * doubled) * (0.5 + clock.random() / 2)
      : Math.min(MAX_PAUSE_MS, baseMs * doubled) * clock.random();
  }

  return {
    setBase(retry) {
      baseMs = Number(retry) || baseMs;
    },
    reset() {
      attempt = 0;
    },
    async pause(error, signal) {
      attempt += 1;
      const { retryAfterMs } = error;
      const reason = findReason(error);
      const delayMs = Math.round(computeDelayMs(reason, retryAfterMs));
      setState({ status: 'reconnecting', attempt, retryAtMs: clock.nowMs() + delayMs, reason, error });
      const wakeOn = reason === 'unauthenticated' ? 'retry' : 'reachable';
      await activity.pause(delayMs, {
        signal,
        wakeOn: retryAfterMs === undefined ? wakeOn : 'nothing',
        ownWake: waking.signal,
      });
    },
    wake() {
      waking.abort();
      waking = new AbortController();
    },
  };
}
