import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError, type DatabaseErrorKind } from './errors.ts';

/** After 4 conflicts the client has to retry the request. */
const MAX_CONFLICTS = 4;
const FIRST_PAUSE_MS = 10;
const MAX_DOUBLINGS = 5;

export const RETRY = Symbol('retry');

/** `conflict` is a deadlock (40P01) or a failed serialization (40001). `locked` is a lock timeout (55P03). */
export const isAborted = (kind: DatabaseErrorKind | undefined): boolean =>
  kind === 'conflict' || kind === 'locked';

/** Retries work that the database aborts because of other transactions (decisions/0014-lock-ordering.md). */
export class Retries {
  readonly #endMs: number;
  #conflicts = 0;
  #pauses = 0;

  /** @param lockWaitMs the time from now within which lock timeouts are retried. */
  constructor(lockWaitMs: number) {
    this.#endMs = performance.now() + lockWaitMs;
  }

  /** Each call counts one try. */
  allows(kind: DatabaseErrorKind | undefined): boolean {
    if (!isAborted(kind)) return false;
    if (kind === 'locked') return performance.now() < this.#endMs;
    this.#conflicts += 1;
    return this.#conflicts <= MAX_CONFLICTS;
  }

  /** @throws the error of the last try. */
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

  /** @throws `error` if no further try is allowed. */
  async after(error: unknown): Promise<void> {
    if (!(error instanceof DatabaseError && this.allows(error.kind))) throw error;
    await this.#pause();
  }

  /**
   * Jitter keeps two transactions from colliding repeatedly. The pause occupies no lock and no connection.
   */
  async #pause(): Promise<void> {
    const pauseMs = FIRST_PAUSE_MS * 2 ** Math.min(this.#pauses, MAX_DOUBLINGS);
    this.#pauses += 1;
    await delay(pauseMs * (0.5 + Math.random()));
  }
}
