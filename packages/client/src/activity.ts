import type { Clock } from './clock.ts';
import { observePage } from './page-lifecycle.ts';

/** Why a pause is shortened: the service responds, or the program asked for an attempt, as after signing in. */
export type WakeReason = 'reachable' | 'retry';

/** What the parts of a client tell each other, so that no part waits longer than needed. */
export interface Activity {
  /** Shortens pauses. A pause that waits for other credentials is shortened only for `retry`. */
  wake(reason: WakeReason): void;
  /** Shortens all pauses here and, through the listeners, in other tabs. */
  retry(): void;
  /** Calls the listener after each `retry`, until the signal is aborted. */
  onRetry(listener: () => void, signal: AbortSignal): void;
  /** Waits. A delay that the service asked for is never shortened. */
  pause(delayMs: number, options: PauseOptions): Promise<void>;
  /** Aborted while the page is frozen. */
  readonly suspension: AbortSignal;
  /** Resolves when the page is active. */
  waitUntilActive(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** What shortens a pause. */
export interface PauseOptions {
  readonly signal: AbortSignal;
  /** The reasons that shorten the pause. */
  readonly wakeOn: 'nothing' | 'retry' | 'reachable';
  /** Shortens this pause alone. */
  readonly ownWake?: AbortSignal;
}

/** The shortest pause, so that responses to one request do not lead to many attempts of another. */
const MIN_PAUSE_MS = 250;

export function createActivity(clock: Clock): Activity {
  let retrying = new AbortController();
  let reachable = new AbortController();
  let suspension = new AbortController();
  let activation = new AbortController();

  const wake = (reason: WakeReason) => {
    const woken = reason === 'retry' ? [retrying, reachable] : [reachable];
    if (reason === 'retry') retrying = new AbortController();
    reachable = new AbortController();
    for (const controller of woken) controller.abort();
  };
  const stopObserving = observePage({
    onWake: () => wake('reachable'),
    onSuspend() {
      if (suspension.signal.aborted) return;
      activation = new AbortController();
      suspension.abort();
    },
    onResume() {
      if (!suspension.signal.aborted) return wake('reachable');
      suspension = new AbortController();
      activation.abort();
      wake('reachable');
    },
  });
  const retryListeners = new Set<() => void>();
  return {
    wake,
    retry() {
      wake('retry');
      for (const listener of retryListeners) listener();
    },
    onRetry(listener, signal) {
      retryListeners.add(listener);
      signal.addEventListener('abort', () => retryListeners.delete(listener));
    },
    get suspension() {
      return suspension.signal;
    },
    async pause(delayMs, { signal, wakeOn, ownWake }) {
      const signals = [signal, ...(ownWake === undefined ? [] : [ownWake])];
      if (wakeOn === 'nothing') return clock.sleep(delayMs, [signal]);
      const wakeSignal = wakeOn === 'retry' ? retrying.signal : reachable.signal;
      const endMs = clock.nowMs() + delayMs;
      await clock.sleep(Math.min(delayMs, MIN_PAUSE_MS), [signal]);
      const restMs = endMs - clock.nowMs();
      if (restMs > 0) await clock.sleep(restMs, [...signals, wakeSignal]);
    },
    async waitUntilActive(signal) {
      while (suspension.signal.aborted && !signal.aborted)
        await clock.sleep(Number.POSITIVE_INFINITY, [signal, activation.signal]);
    },
    close: stopObserving,
  };
}
