import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError, type DatabaseErrorKind } from './errors.ts';

/** After this many conflicts the client has to retry itself. */
const MAX_CONFLICTS = 4;
const FIRST_PAUSE_MS = 10;
const MAX_DOUBLINGS = 5;

/** What a try returns to be repeated. */
export const RETRY = Symbol('retry');

/**
 * Whether the database aborted the work in favour of others, so that it may succeed later. `conflict`: a deadlock (40P01)
 * or a failed serialization (40001). `locked`: a lock that was not free in time (55P03).
 */
export const isAborted = (kind: DatabaseErrorKind | undefined): boolean =>
  kind === 'conflict' || kind === 'locked';

/** The tries of some work that the database aborts in favour of others (decision 14). */
export class Retries {
  readonly #endMs: number;
  #conflicts = 0;
  #pauses = 0;

  /** `lockWaitMs` is how long it keeps trying to acquire its locks, from now on. */
  constructor(lockWaitMs: number) {
    this.#endMs = performance.now() + lockWaitMs;
  }

  /** Whether aborted work may be retried. Call it once for each try. */
  allows(kind: DatabaseErrorKind | undefined): boolean {
    if (!isAborted(kind)) return false;
    if (kind === 'locked') return performance.now() < this.#endMs;
    this.#conflicts += 1;
    return this.#conflicts <= MAX_CONFLICTS;
  }

  /** Tries until the work is not aborted, or no more tries are allowed. Rejects with what the last one throws. */
  async run<T>(tryOnce: () => Promise<T | typeof RETRY>): Promise<T> {
    for (;;) {
      try {
        const result = await tryOnce();
        if (result !== RETRY) return result;
        await this.#pause();
      } catch (error) {
        await this.after(error);
      }
    }
  }

  /** Pauses after a try that has thrown this. Rejects with it if there is no other. */
  async after(error: unknown): Promise<void> {
    if (!(error instanceof DatabaseError && this.allows(error.kind))) throw error;
    await this.#pause();
  }

  /**
   * Waits with exponential backoff and jitter, so that two of them do not collide repeatedly. It holds no lock and no
   * connection meanwhile.
   */
  async #pause(): Promise<void> {
    const pauseMs = FIRST_PAUSE_MS * 2 ** Math.min(this.#pauses, MAX_DOUBLINGS);
    this.#pauses += 1;
    await delay(pauseMs * (0.5 + Math.random()));
  }
}
