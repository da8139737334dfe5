import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../platform/log/log.ts';

export interface Running {
  /** Resolves once the process is unusable, which is before its exit. */
  readonly ending: Promise<void>;
  readonly ended: Promise<void>;
  terminate(): Promise<unknown>;
  close(): Promise<void>;
}

export interface SupervisorOptions {
  /** Rejects if the process did not start. Nothing must remain running then. */
  start(): Promise<Running>;
  readonly log: Logger;
  /** Never rejects. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

const pauseFor = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal }).catch(() => undefined);

/**
 * Two processes never run at the same time. Rejects if the first start fails. Later failures are retried with
 * exponential backoff, because causes such as a full disk last for a while.
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
    /** Waits for the first restart attempt. Rejects while restarts keep failing. */
    ready: () => state,
    /** Rejects if the first attempt fails, but further attempts follow. */
    restart(reason: string) {
      // Undefined while a restart is already in progress.
      if (current !== undefined) {
        log.emit('embedded_db.restart_requested', { reason });
        renew(current.terminate());
      }
      return state;
    },
    async close() {
      stopping.abort();
      // A process that is starting would otherwise outlive this call.
      await reviving;
      await current?.close();
    },
  };
}
