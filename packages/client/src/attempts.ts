import type { Activity } from './activity.ts';
import type { CallOptions } from './calls.ts';
import type { Clock } from './clock.ts';
import { ContentGraphError } from './errors.ts';
import { linkSignals } from './platform.ts';
import { computePauseMs, type RetryPolicy } from './retry-policy.ts';

/** What attempts need of the client. */
export interface AttemptContext {
  readonly clock: Clock;
  readonly activity: Activity;
  readonly policy: RetryPolicy;
  /** Aborted when the client is closed. */
  readonly lifetime: AbortSignal;
}

/** Sends requests once or repeatedly. */
export interface Attempts {
  /**
   * Runs one attempt, which is aborted after the time limit.
   * @throws {ContentGraphError} `NETWORK_ERROR` for any other error than a `ContentGraphError`
   */
  run<Result>(signal: AbortSignal, work: (limit: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Repeats attempts until one succeeds, fails for good, or the next would begin after the time budget. */
  repeat<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    budgetMs: number,
    options: CallOptions,
  ): Promise<Result>;
}

export function createAttempts({ clock, activity, policy, lifetime }: AttemptContext): Attempts {
  return {
    async run(signal, work) {
      const limit = linkSignals(signal);
      const cancelTimer = clock.setTimer(() => limit.abort(), policy.attemptTimeoutMs);
      try {
        return await work(limit.signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ContentGraphError) throw error;
        const message = limit.signal.aborted
          ? `The service did not respond within ${policy.attemptTimeoutMs} ms.`
          : 'The connection to the service failed.';
        throw new ContentGraphError('NETWORK_ERROR', message, { cause: error });
      } finally {
        cancelTimer();
        limit.unlink();
      }
    },
    async repeat(work, budgetMs, { signal: given, onRetry }) {
      const link = linkSignals(given, lifetime);
      const { signal } = link;
      const endMs = clock.nowMs() + budgetMs;
      try {
        for (let attempts = 1; ; attempts += 1) {
          try {
            signal.throwIfAborted();
            return await work(signal);
          } catch (error) {
            if (!(error instanceof ContentGraphError) || !error.isRetryable) throw error;
            const pauseMs = computePauseMs(policy, attempts, error.retryAfterMs, clock.random());
            const retryAtMs = clock.nowMs() + pauseMs;
            if (retryAtMs > endMs) throw error;
            onRetry?.(error, retryAtMs);
            const wakeOn = error.retryAfterMs === undefined ? 'reachable' : 'nothing';
            await activity.pause(pauseMs, { signal, wakeOn });
          }
        }
      } finally {
        link.unlink();
      }
    },
  };
}
