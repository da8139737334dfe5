import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../log.ts';

/** Something that has started and may end by itself. */
export interface Running {
  /** Resolves once it has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** Ends it in the middle of whatever it does. */
  terminate(): Promise<unknown>;
  /** Lets it end in order. */
  close(): Promise<void>;
}

/** Keeps one thing running: never two at a time. */
export interface Supervisor {
  /** Resolves while it runs; waits for a first restart, and rejects at once while the last one has failed. */
  ready(): Promise<void>;
  /** Ends it and starts it again. Rejects with what the start rejects with; it is tried again all the same. */
  restart(reason: string): Promise<void>;
  /** Ends it in order and for good. */
  close(): Promise<void>;
}

export interface SupervisorOptions {
  /** Rejects where it did not start; then nothing of it is left running. */
  start(): Promise<Running>;
  readonly log: Logger;
  /** Waits so long, or until the signal aborts; never rejects. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

const pauseFor = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal }).catch(() => undefined);

/**
 * Starts something and starts it again whenever it ends by itself. What fails at first is the caller's: it rejects.
 * Later failures are retried ever more slowly, since what stops a start, such as a full disk, is seldom gone at once.
 */
export async function supervise({ start, log, pause = pauseFor }: SupervisorOptions): Promise<Supervisor> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let current: Running | undefined;
  let state: Promise<void> = Promise.resolve();
  let reviving: Promise<void> = Promise.resolve();

  function keep(running: Running): void {
    current = running;
    void running.ended.then(() => {
      if (current !== running || signal.aborted) return;
      log.warn('the embedded database ended; starting it again');
      renew(Promise.resolve());
    });
  }

  async function revive(ended: Promise<unknown>, first: PromiseWithResolvers<void>): Promise<void> {
    await ended;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        keep(await start());
        first.resolve();
        state = Promise.resolve();
        return;
      } catch (error) {
        log.error({ err: error, retryInMs: pauseMs }, 'the embedded database did not start again');
        first.reject(error);
        await pause(pauseMs, signal);
      }
    }
    first.reject(new Error('the embedded database is closing'));
  }

  function renew(ended: Promise<unknown>): void {
    current = undefined;
    const first = Promise.withResolvers<void>();
    // Whoever needs the database awaits `ready` and gets the error there.
    first.promise.catch(() => undefined);
    state = first.promise;
    reviving = revive(ended, first);
  }

  keep(await start());
  return {
    ready: () => state,
    restart(reason) {
      // Otherwise it is on its way already.
      if (current !== undefined) {
        log.warn({ reason }, 'restarting the embedded database');
        renew(current.terminate());
      }
      return state;
    },
    async close() {
      stopping.abort();
      // One that is just starting would otherwise go on after this.
      await reviving;
      await current?.close();
    },
  };
}
