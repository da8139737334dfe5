import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../platform/log/log.ts';

/** A started process or thread that may end by itself. */
export interface Running {
  /** Resolves once it can no longer be used, which is before it has ended. */
  readonly ending: Promise<void>;
  /** Resolves once it has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Kills it. */
  terminate(): Promise<unknown>;
  /** Shuts it down gracefully. */
  close(): Promise<void>;
}

export interface SupervisorOptions {
  /** Rejects if it did not start; nothing is left running then. */
  start(): Promise<Running>;
  readonly log: Logger;
  /** Waits for `ms`, or until the signal aborts. Never rejects. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

const pauseFor = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal }).catch(() => undefined);

/**
 * Starts an instance and restarts it whenever it ends by itself. Never two run at a time. Rejects if the first start fails. Later
 * failures are retried with exponential backoff, because causes such as a full disk rarely go away at once.
 */
export async function supervise({ start, log, pause = pauseFor }: SupervisorOptions) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let current: Running | undefined;
  let state: Promise<void> = Promise.resolve();
  let reviving: Promise<void> = Promise.resolve();

  function keep(running: Running): void {
    current = running;
    void running.ending.then(() => {
      if (current !== running || signal.aborted) return;
      log.emit('embedded_db.restarting');
      renew(running.ended);
    });
  }

  async function revive(ended: Promise<unknown>, first: PromiseWithResolvers<void>): Promise<void> {
    const sinceMs = performance.now();
    await ended;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        keep(await start());
        first.resolve();
        state = Promise.resolve();
        log.emit('embedded_db.recovered', {
          durationSeconds: Math.round((performance.now() - sinceMs) / 1_000),
        });
        return;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        log.emit('embedded_db.restart_failed', { reason, retryAfterMs: pauseMs });
        first.reject(error);
        await pause(pauseMs, signal);
      }
    }
    first.reject(new Error('the embedded database is closing'));
  }

  function renew(ended: Promise<unknown>): void {
    current = undefined;
    const first = Promise.withResolvers<void>();
    // Callers get the error from `ready`.
    first.promise.catch(() => undefined);
    state = first.promise;
    reviving = revive(ended, first);
  }

  keep(await start());
  return {
    /** Resolves while it runs. Waits for the first restart attempt; rejects while restarts keep failing. */
    ready: () => state,
    /** Kills it and starts it again. Rejects if the first attempt fails; further attempts follow anyway. */
    restart(reason: string) {
      // Undefined while a restart is already under way.
      if (current !== undefined) {
        log.emit('embedded_db.restart_requested', { reason });
        renew(current.terminate());
      }
      return state;
    },
    /** Shuts it down gracefully and for good. */
    async close() {
      stopping.abort();
      // An instance that is just starting would otherwise outlive this call.
      await reviving;
      await current?.close();
    },
  };
}
